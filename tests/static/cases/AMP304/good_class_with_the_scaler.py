"""Of two classes below, the one that makes the scaler computes in float16, and the other one in bfloat16."""

import torch


class Base:
    def __init__(self, model):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = self.make_scaler()

    def make_scaler(self):
        return None

    def run(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=self.dtype()):
                loss = self.model(x).float().pow(2).mean()
            if self.scaler is not None:
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                loss.backward()
                self.optimizer.step()


class Half(Base):
    def dtype(self):
        return torch.float16

    def make_scaler(self):
        return torch.amp.GradScaler("cuda")


class Brain(Base):
    def dtype(self):
        return torch.bfloat16


def main(loader):
    for kind in (Half, Brain):
        kind(torch.nn.Linear(4, 4)).run(loader)
