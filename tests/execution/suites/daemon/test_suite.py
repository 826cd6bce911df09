"""Leaves a daemon behind: in a session of its own, and without the environment that it was started with."""

import subprocess
import sys


def test_leaves_a_daemon():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True, env={})
