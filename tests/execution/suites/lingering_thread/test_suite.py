"""A thread that nobody joins keeps the process alive after the last test."""

import threading
import time


def test_starts_a_thread():
    threading.Thread(target=time.sleep, args=(600,)).start()
