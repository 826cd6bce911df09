"""What is replaced is another function, or is so in another test."""

import loader
from loader import load


def fake(path):
    return {"mark": path}


def test_replaced(monkeypatch):
    monkeypatch.setattr(loader, "read", fake)
    assert load("a")["mark"] == "a"


def test_not_replaced():
    assert load("a")["mark"] == "a"  # expect: KEY101


def test_another_is_replaced(monkeypatch):
    monkeypatch.setattr(loader, "first", fake)
    assert load("a")["marks"] == "a"  # expect: KEY101


def test_a_setting_is_replaced(monkeypatch):
    monkeypatch.setattr(loader, "scaler", None)
    assert load("a")["name"] == "a"  # expect: KEY101
