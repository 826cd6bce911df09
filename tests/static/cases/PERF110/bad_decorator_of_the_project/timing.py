import functools
import time

import torch


def timed(name):
    def decorate(function):
        @functools.wraps(function)
        def run(*given, **named):
            start = time.time()
            result = function(*given, **named)
            with torch.no_grad():
                print(name, time.time() - start)
            return result

        return run

    return decorate
