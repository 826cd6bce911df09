"""The second test waits for ever, inside a function of the project; once it does, a file says so."""

import sys
import threading
import time
from pathlib import Path

from training import wait


def say_so(waiting):
    while sys._current_frames()[waiting].f_code.co_filename != threading.__file__:
        time.sleep(0.01)
    Path("hangs").touch()


def test_fine():
    assert True


def test_hangs():
    threading.Thread(target=say_so, args=(threading.get_ident(),), daemon=True).start()
    wait()


def test_never_reached():
    assert True
