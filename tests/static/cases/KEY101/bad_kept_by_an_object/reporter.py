import contextlib
import threading


here = threading.local()


class Reporter:
    def __init__(self):
        self.seen: dict[str, float] = {}

    def __enter__(self):
        here.reporters.append(self)

    def __exit__(self, *_):
        here.reporters.pop()

    @contextlib.contextmanager
    def scope(self, seen: dict[str, float]):
        before = self.seen
        self.seen = seen
        self.__enter__()
        try:
            yield
        finally:
            self.__exit__(None, None, None)
            self.seen = before

    def report(self, values: dict[str, float]) -> None:
        for key, value in values.items():
            self.seen["train/loss"] = (key, value)


def report(values):
    here.reporters[-1].report(values)
