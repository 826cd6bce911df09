"""The second test fails after the first and passes alone; the last one fails always."""

SEEN = []


def test_leaves_a_trace():
    SEEN.append(1)


def test_depends_on_order():
    assert not SEEN


def test_fine():
    assert True
