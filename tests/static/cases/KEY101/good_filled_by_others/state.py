class State:
    def __init__(self):
        self.metrics: dict[str, float] = {}


class Engine:
    def __init__(self):
        self.state = State()

    def run(self, batches):
        for batch in batches:
            print(batch)
