import torch
from torch import nn


class Accumulator:
    def __init__(self, optimizer, scaler, every):
        self.optimizer, self.scaler, self.every = optimizer, scaler, every
        self.seen = 0

    def backward(self, loss):
        self.scaler.scale(loss / self.every).backward()
        self.seen += 1

    @property
    def complete(self):
        return self.seen == self.every

    def flush(self):
        self.scaler.unscale_(self.optimizer)
        for group in self.optimizer.param_groups:
            nn.utils.clip_grad_norm_(group["params"], 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.seen = 0


def main():
    model = nn.Linear(6, 3)
    window = Accumulator(torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda"), 2)
    for _ in range(8):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        window.backward(loss)
        if window.complete:
            window.flush()


if __name__ == "__main__":
    main()
