import loader
import pytest


@pytest.fixture
def marked(monkeypatch):
    monkeypatch.setattr(loader, "read", lambda path: {"mark": path})
