import torch
from torch import nn


class Callback:
    def on_backward_end(self, trainer): ...

    def on_epoch_end(self, trainer): ...


class ClipGradients(Callback):
    def __init__(self, limit):
        self.limit = limit

    def on_backward_end(self, trainer):
        trainer.scaler.unscale_(trainer.optimizer)
        nn.utils.clip_grad_norm_(trainer.model.parameters(), self.limit)


class CountEpochs(Callback):
    count = 0

    def on_epoch_end(self, trainer):
        self.count += 1


class Trainer:
    def __init__(self, model, callbacks):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")
        self.callbacks = list(callbacks)

    def call(self, event):
        for callback in self.callbacks:
            getattr(callback, f"on_{event}")(self)

    def fit(self, batches):
        for x, y in batches:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.call("backward_end")
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.call("epoch_end")


def main():
    batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(6)]
    Trainer(nn.Linear(6, 3), [ClipGradients(1.0), CountEpochs()]).fit(batches)


if __name__ == "__main__":
    main()
