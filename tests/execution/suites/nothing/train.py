"""A project without tests."""
