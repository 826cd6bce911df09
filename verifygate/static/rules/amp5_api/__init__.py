"""Rules about the interface."""
