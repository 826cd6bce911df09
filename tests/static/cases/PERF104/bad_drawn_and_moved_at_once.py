"""The batch is drawn and moved in one expression."""

import torch
from torch.utils.data import DataLoader


def forever(loader):
    while True:
        yield from loader


class Trainer:
    def __init__(self, model, dataset):
        self.model = model.cuda()
        self.batches = forever(DataLoader(dataset, batch_size=8, shuffle=True))  # expect: PERF104
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.step = 0

    def train(self):
        while self.step < 1000:
            batch = next(self.batches).cuda()
            with torch.autocast("cuda"):
                loss = self.model(batch).mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
            self.step += 1
