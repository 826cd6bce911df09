"""What every case trains with: a model of two layers, SGD, a live scaler on the CPU."""

import torch


class World:
    def __init__(self, has_scaler):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0) if has_scaler else None
        self.batches = [torch.randn(8, 4) for _ in range(6)]
        self.clip = torch.nn.utils.clip_grad_norm_

    def loss(self, batch, dtype=torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            return self.model(batch).float().pow(2).mean()

    def poison(self):
        next(self.model.parameters()).grad.view(-1)[0] = float("inf")
