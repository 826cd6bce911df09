"""The second test never ends, and neither does its child."""

import subprocess
import sys


def test_fine():
    assert True


def test_hangs():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"])
