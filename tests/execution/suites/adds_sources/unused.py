"""Gone after the tests."""
