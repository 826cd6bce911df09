"""In each of these tests a function of the loader is another one, whose dict has the key."""

from unittest import mock

import loader
from loader import Reader, load


def fake(path):
    return {"mark": path}


def test_by_name(monkeypatch):
    monkeypatch.setattr("loader.read", fake)
    assert load("a")["mark"] == "a"


def test_by_object(mocker):
    mocker.patch.object(loader, "read", fake)
    assert load("a")["mark"] == "a"


@mock.patch("loader.read", fake)
def test_by_decorator():
    assert load("a")["mark"] == "a"


def test_by_context():
    with mock.patch("loader.read", new=fake):
        assert load("a")["mark"] == "a"


def test_by_fixture(marked):
    assert load("a")["mark"] == "a"


def test_by_assignment():
    before, loader.read = loader.read, fake
    assert load("a")["mark"] == "a"
    loader.read = before


def test_method(monkeypatch):
    monkeypatch.setattr(Reader, "entry", lambda self, path: {"mark": path})
    assert Reader().entry("a")["mark"] == "a"


def test_by_helper(monkeypatch):
    _replace(monkeypatch)
    assert load("a")["mark"] == "a"


def _replace(monkeypatch):
    monkeypatch.setattr(loader, "read", fake)


class TestLoader:
    def setup_method(self):
        self.before = loader.read
        loader.read = fake

    def test_load(self):
        assert load("a")["mark"] == "a"
