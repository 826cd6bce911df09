"""A workload of several processes: DistributedDataParallel over gloo, each process with its own share of the data."""

import hashlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Distributed:
    samples_per_step = 16  # of one process

    def __init__(self, precision, seed, device):
        if not dist.is_initialized():
            dist.init_process_group("nccl" if device == "cuda" else "gloo")
        self.rank = dist.get_rank()
        torch.manual_seed(seed)
        self.model = DistributedDataParallel(torch.nn.Linear(4, 1).to(device))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.dtype = {"fp32": None, "bf16": torch.bfloat16}[precision]
        self.draw = torch.Generator().manual_seed(1000 * seed + self.rank)
        self.device, self.effective_steps, self.digest = device, 0, hashlib.sha256()

    def forward(self, points):
        with torch.autocast(self.device, dtype=self.dtype or torch.bfloat16, enabled=self.dtype is not None):
            return self.model(points)

    def step(self):
        points = torch.randn(self.samples_per_step, 4, generator=self.draw)
        self.digest.update(points.numpy().tobytes())
        points = points.to(self.device)
        loss = torch.nn.functional.mse_loss(self.forward(points).float(), points.sum(1, keepdim=True))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.effective_steps += 1
        return loss

    @torch.no_grad()
    def evaluate(self):
        points = torch.randn(20, 4, generator=torch.Generator().manual_seed(1)).to(self.device)
        return (self.forward(points).float().squeeze(1) - points.sum(1)).abs().tolist()

    def data_digest(self):
        return self.digest.hexdigest()


def build(precision, seed, device="cpu"):
    return Distributed(precision, seed, device)


def one_fails(precision, seed, device="cpu"):
    workload = Distributed(precision, seed, device)
    if workload.rank == 1 and precision != "fp32":
        workload.step = lambda: {}["loss"]
    return workload
