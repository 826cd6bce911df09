"""Tests that move about, start processes, take the clock away, write, warn, and have odd names."""

import builtins
import gc
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
import steps


@pytest.mark.parametrize("name", ["", " ", "[", "]", "::", "a::b[c]", "ü", "\n", "\x1b[31m", "x" * 300, "<b>", "`|`", "%s"])
def test_odd_names(name):
    assert name + name == 2 * name


@pytest.mark.parametrize(("first", "second"), [pytest.param(1, 2, id="-"), pytest.param(2, 4, id="..")])
def test_ids_that_are_signs(first, second):
    assert steps.double(first) == second


def test_parametrised_by_a_hook(size):
    assert steps.double(size) == size + size


async def test_of_a_coroutine(trained):
    assert trained


@pytest.mark.flaky
def test_that_may_run_again():
    assert steps.double(1) == 2


def test_that_leaves_the_folder(tmp_path):
    os.chdir("/")
    os.makedirs(tmp_path / "out")
    (tmp_path / "out" / "log.txt").write_text("done")
    assert (tmp_path / "out" / "log.txt").exists()


def test_without_a_clock(monkeypatch):
    for name in ("time", "monotonic", "perf_counter", "sleep"):
        monkeypatch.setattr(time, name, lambda *_: 0.0)
    assert time.time() == time.monotonic() == 0.0


def test_without_builtins(monkeypatch):
    monkeypatch.setattr(builtins, "print", lambda *_: None)
    monkeypatch.setattr(builtins, "open", lambda *_: None)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "argv", ["train"])
    assert open("nowhere") is None


def test_of_a_process():
    code = "import steps; raise SystemExit(steps.double(2))"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": os.path.dirname(steps.__file__)}).returncode == 4


def test_of_a_pool():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]


def test_of_a_fork():
    child = os.fork()
    if not child:
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_of_a_thread_whose_failure_is_expected():
    caught = []

    def target():
        try:
            steps.refuse(-1)
        except AssertionError as error:
            caught.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    assert caught


def test_that_an_assert_fails():
    with pytest.raises(AssertionError, match="no negative steps"):
        steps.refuse(-1)


def test_that_code_ends_the_program():
    with pytest.raises(SystemExit):
        sys.exit(0)
    with pytest.raises(KeyboardInterrupt):
        raise KeyboardInterrupt


def test_of_warnings():
    with pytest.warns(DeprecationWarning):
        assert steps.old_name(1) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning):
            steps.old_name(1)


def test_of_output(capfd, caplog, capsys_or_none=None):
    os.write(1, b"PASSED 100%\n::error::no\n")
    logging.getLogger().critical("FAILED")
    assert "PASSED" in capfd.readouterr().out
    assert "FAILED" in caplog.text


def test_of_signals_and_garbage():
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    gc.disable()
    os.kill(os.getpid(), signal.SIGALRM)
    gc.enable()
    signal.signal(signal.SIGALRM, before)
    assert steps.double(0) == 0


def test_of_the_recursion_limit():
    def endless():
        return endless()

    with pytest.raises(RecursionError):
        endless()


@pytest.fixture(params=[0, 1], ids=["off", "on"])
def switch(request):
    yield request.param


class TestNested:
    class TestDeeper:
        def test_inside(self, switch):
            assert switch in (0, 1)


class Common:
    number = 0

    def test_shared(self):
        assert steps.double(self.number) == 2 * self.number


class TestOne(Common):
    number = 1


class TestTwo(Common):
    number = 2
