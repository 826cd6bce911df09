"""Line 7 waits for what never comes."""

import threading


def wait():
    threading.Event().wait()
