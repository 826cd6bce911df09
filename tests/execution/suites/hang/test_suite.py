"""The second test never ends, and neither does its child, which says so in a file."""

import subprocess
import sys


def test_fine():
    assert True


def test_hangs():
    subprocess.run([sys.executable, "-c", "import time; open('hangs', 'w').close(); time.sleep(600)"])
