"""Leaves a child behind that holds the output open long after the test."""

import subprocess
import sys


def test_leaves_a_child():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
