import torch
from torch import nn


class Trainer:
    def __init__(self, lr, clip):
        self.model, self.clip = nn.Linear(6, 3), clip
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda", enabled=True)

    def forward_backward(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(self.model(x), y)
        self.scaler.scale(loss).backward()

    def optimizer_step(self):
        if self.clip is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()


def main():
    sweep = {lr: Trainer(lr, clip) for lr, clip in ((0.1, None), (0.05, 1.0), (0.01, 0.1))}
    for _ in range(4):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        for trainer in sweep.values():
            trainer.forward_backward(x, y)
        for trainer in sweep.values():
            trainer.optimizer_step()


if __name__ == "__main__":
    main()
