"""Honest hooks and fixtures of projects that ask much of pytest."""

import asyncio
import inspect
import json
import random

import pytest
from _pytest.runner import runtestprotocol

TRAINED = []


def pytest_collect_file(parent, file_path):
    if file_path.suffix == ".json":
        return Table.from_parent(parent, path=file_path)
    return None


class Table(pytest.File):
    def collect(self):
        for name, (number, twice) in json.loads(self.path.read_text()).items():
            yield Row.from_parent(self, name=name, number=number, twice=twice)


class Row(pytest.Item):
    def __init__(self, *, number, twice, **others):
        super().__init__(**others)
        self.number, self.twice = number, twice

    def runtest(self):
        assert 2 * self.number == self.twice

    def reportinfo(self):
        return self.path, 0, self.name


def pytest_pyfunc_call(pyfuncitem):
    """Run coroutines, as plugins for asyncio do."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_runtest_protocol(item, nextitem):
    """Run a test again that failed, as plugins for flaky tests do."""
    if item.get_closest_marker("flaky") is None:
        return None
    for _ in range(3):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if all(report.passed for report in reports):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_configure(config):
    config.addinivalue_line("markers", "flaky: run it again where it fails")


def pytest_generate_tests(metafunc):
    if "size" in metafunc.fixturenames:
        metafunc.parametrize("size", [1, 2], ids=lambda size: f"size/{size}::[{size}]")


def pytest_collection_modifyitems(items):
    random.Random(0).shuffle(items)


@pytest.fixture(scope="session")
def trained():
    TRAINED.append(sum(range(1000)))
    yield TRAINED
    TRAINED.clear()


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
