"""Stands for a test under autocast that gets the process killed."""

import os
import signal


def test_is_killed():
    os.kill(os.getpid(), signal.SIGKILL)
