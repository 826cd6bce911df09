"""The ranks that torchrun started, or a world of one."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class World:
    """This process among its peers. With `size` 1 every method is local and costs nothing."""

    rank: int = 0
    local_rank: int = 0  # the rank on this machine; it picks the GPU
    size: int = 1

    @classmethod
    def from_env(cls) -> World:
        """Read what torchrun put into the environment; without torchrun, a world of one."""
        return cls(
            rank=int(os.environ.get("RANK", "0")),
            local_rank=int(os.environ.get("LOCAL_RANK", "0")),
            size=int(os.environ.get("WORLD_SIZE", "1")),
        )

    @property
    def is_main(self) -> bool:
        """True on the one rank that writes files."""
        return self.rank == 0

    def start(self, device: torch.device) -> None:
        """Meet the other ranks: NCCL between GPUs, gloo between CPUs."""
        if device.type == "cuda":
            torch.cuda.set_device(device)
        if self.size > 1:
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")

    def stop(self) -> None:
        """Leave the group; safe to call when there is none."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()

    def mean(self, value: torch.Tensor) -> float:
        """The mean over ranks of the 0-dim `value`. Waits for the device."""
        return self.sum(value) / self.size

    def sum(self, value: torch.Tensor) -> float:
        """The sum over ranks of the 0-dim `value`. Waits for the device."""
        if self.size == 1:
            return float(value)
        total = value.detach().float().clone()
        dist.all_reduce(total)
        return total.item()

    def gather(self, value: torch.Tensor) -> list[torch.Tensor]:
        """The CPU tensor `value` of every rank, in rank order."""
        if self.size == 1:
            return [value]
        values: list[torch.Tensor] = [value] * self.size
        dist.all_gather_object(values, value)
        return values
