"""The wrapped module runs by itself: nothing arms the reducer."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as Ddp


def by_attribute(batches, device):
    model = Ddp(nn.Linear(8, 1).to(device))
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler(device)
    for inputs, targets in batches:
        with torch.autocast(device, dtype=torch.float16):
            outputs = model.module(inputs)  # expect: AMP218 likely
            loss = nn.functional.mse_loss(outputs, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def by_its_old_name(batches, device):
    net = nn.Linear(8, 1).to(device)
    wrapped = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(wrapped.parameters())
    for inputs, targets in batches:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(net(inputs), targets)  # expect: AMP218 likely
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return wrapped.state_dict()


class Trainer:
    def __init__(self, device):
        self.model = Ddp(nn.Linear(8, 1).to(device))
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def train(self, batches):
        for inputs, targets in batches:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = nn.functional.mse_loss(self.model.module(inputs), targets)  # expect: AMP218 likely
            loss /= 2
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
