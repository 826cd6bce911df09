"""The flag is set between forward and backward: DistributedDataParallel has read it by then."""

import torch
from torch.nn.parallel import DistributedDataParallel


def compute(network, inputs):
    return network(inputs).mean()


def through_a_function(net, optimizer, scaler, batches, window):
    network = DistributedDataParallel(net)
    for number, inputs in enumerate(batches, 1):
        with torch.autocast("cuda"):
            loss = compute(network, inputs) / window
        setattr(network, "require_backward_grad_sync", number % window == 0)  # expect: AMP218
        scaler.scale(loss).backward()
        if number % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


class Worker:
    def __init__(self, net, optimizer, scaler):
        self.ddp = DistributedDataParallel(net)
        self.optimizer, self.scaler = optimizer, scaler

    def forward_pass(self, inputs):
        with torch.autocast("cuda"):
            return self.ddp(inputs).mean()

    def run(self, batches, window):
        for number, inputs in enumerate(batches, 1):
            last = number % window == 0
            loss = self.forward_pass(inputs) / window
            self.ddp.require_backward_grad_sync = last  # expect: AMP218
            self.scaler.scale(loss).backward()
            if last:
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()


def not_known(network, optimizer, scaler, batches, window):
    for number, inputs in enumerate(batches, 1):
        with torch.autocast("cuda"):
            loss = network(inputs).mean() / window
        network.require_backward_grad_sync = number % window == 0  # expect: AMP218 likely
        scaler.scale(loss).backward()
        if number % window == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
