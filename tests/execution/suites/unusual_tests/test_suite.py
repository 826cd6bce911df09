"""Honest tests of many kinds, each run in its own way: none may be suspected."""

import functools
import inspect
import unittest
from unittest import mock

import hypothesis
import pytest
from hypothesis import strategies


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_async():
    assert True


@hypothesis.settings(max_examples=5, database=None)
@hypothesis.given(strategies.integers())
def test_property(number):
    assert number == int(number)


@pytest.mark.anyio
@hypothesis.settings(max_examples=5, database=None)
@hypothesis.given(strategies.integers())
async def test_async_property(number):
    assert number == int(number)


@pytest.mark.parametrize("number", [1, 2])
def test_parameters(number):
    assert number


class TestMethods:
    def setup_method(self):
        self.ready = True

    def test_method(self):
        assert self.ready

    @staticmethod
    def test_static():
        assert True

    @classmethod
    def test_class(cls):
        assert cls is TestMethods


class TestOld(unittest.TestCase):
    def setUp(self):
        self.ready = True

    def test_method(self):
        self.assertTrue(self.ready)


class TestOldAsync(unittest.IsolatedAsyncioTestCase):
    async def test_async(self):
        self.assertTrue(True)


@mock.patch("os.getcwd", return_value="nowhere")
def test_patched(getcwd, tmp_path):
    assert getcwd() == "nowhere"


def decorated(function):
    @functools.wraps(function)
    def around(*arguments, **options):
        return function(*arguments, **options)

    return around


@decorated
def test_decorated(request):
    assert request.node.function.__name__ == "test_decorated"
    assert "test_decorated" in inspect.getsource(request.node.function)


def test_speed(benchmark):
    assert benchmark.pedantic(lambda: 1, rounds=1) == 1


def test_subtests(subtests):
    with subtests.test("one"):
        assert True


test_lambda = lambda: None
