"""Reading a property runs its getter, though its setter is defined later under the same name."""

from torch.amp import GradScaler


class Trainer:
    def __init__(self):
        self._inner = GradScaler("cuda")

    @property
    def guard(self):
        return self._inner

    @guard.setter
    def guard(self, value):
        self._inner = value

    def train(self, model, optimizer, batches):
        for batch in batches:
            optimizer.zero_grad()
            self.guard.scale(model(batch)).backward()
            optimizer.step()  # expect: AMP207
            self.guard.update()
