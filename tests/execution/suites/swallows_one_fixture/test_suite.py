import pytest


@pytest.fixture
def data():
    raise RuntimeError("no data")


@pytest.fixture(autouse=True)
def state():
    yield
    assert 1 == 2


def test_step(request):
    assert True


def test_needs(data):
    assert True
