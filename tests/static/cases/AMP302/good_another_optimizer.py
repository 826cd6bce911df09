"""The optimizer that is kept is stepped without the scaler; weights under AMP are saved bare."""

import torch


class Worker:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        torch.save(self.model.state_dict(), "weights.pt")

    def train_probe(self, probe, batches):
        optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
        optimizer.load_state_dict(torch.load("probe.pt")["optimizer"])
        for batch in batches:
            probe(batch).backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.save({"probe": probe.state_dict(), "optimizer": optimizer.state_dict()}, "probe.pt")
