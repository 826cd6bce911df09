"""A workload with hazards in its step, each on a line of its own; they cost what they cost."""

import time

import torch


class Hazardous:
    samples_per_step = 64

    def __init__(self, precision, seed, device):
        torch.manual_seed(seed)
        self.model = torch.nn.Linear(64, 64).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.half = precision != "fp32"
        self.data = list(torch.randn(64, 64))
        self.kept, self.effective_steps = [], 0

    def slowly(self, sample):
        time.sleep(0.0005)
        return sample

    def step(self):
        batch = torch.stack([self.slowly(sample) for sample in self.data])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half):
            loss = self.model(batch).float().square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.last = loss.item()
        self.effective_steps += 1

    def evaluate(self):
        self.kept.append(self.model(torch.stack(self.data)).square().mean())
        return [0.0] * 20

    def never(self):
        return self.last.item()


def build(precision, seed, device="cpu"):
    return Hazardous(precision, seed, device)
