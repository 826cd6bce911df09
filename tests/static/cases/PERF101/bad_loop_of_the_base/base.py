"""The loop, in a file without a word of AMP."""


class BaseTrainer:
    def __init__(self, loader):
        self.loader = loader

    def run(self):
        for number, batch in enumerate(self.loader):
            self.turn(batch, number)

    def turn(self, batch, number):
        raise NotImplementedError
