class State:
    def __init__(self):
        self.metrics: dict[str, float] = {}


class Engine:
    def __init__(self):
        self.state = State()
        self.handlers = []

    def add_handler(self, handler, name):
        self.handlers.append((handler, name))

    def run(self, batches):
        for batch in batches:
            print(batch)
        for handler, name in self.handlers:
            handler(self, name)
