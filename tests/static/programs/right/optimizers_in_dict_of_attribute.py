import torch
from torch import nn


class Trainer:
    def __init__(self, nets):
        self.nets = nets
        self.optimizers = {}
        for key, net in nets.items():
            self.optimizers[key] = torch.optim.SGD(net.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, x, y):
        for optimizer in self.optimizers.values():
            optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(self.nets["head"](self.nets["body"](x)), y)
        self.scaler.scale(loss).backward()
        for key in self.optimizers:
            self.scaler.unscale_(self.optimizers[key])
            nn.utils.clip_grad_norm_(self.nets[key].parameters(), 1.0)
        for key in ("body", "head"):
            self.scaler.step(self.optimizers[key])
        self.scaler.update()


if __name__ == "__main__":
    trainer = Trainer({"body": nn.Linear(6, 8), "head": nn.Linear(8, 3)})
    for _ in range(6):
        trainer.step(torch.randn(8, 6), torch.randint(0, 3, (8,)))
