"""Scalers for CUDA over regions that run elsewhere."""

import torch
from torch.amp import GradScaler


def on_a_cpu(model, opt, batches):
    scaler = GradScaler()  # expect: AMP306 likely
    for batch in batches:
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def on_an_xpu(model, opt, batches):
    device = torch.device("xpu" if torch.xpu.is_available() else "cpu")
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)  # expect: AMP306 likely
    for batch in batches:
        opt.zero_grad()
        with torch.autocast(device_type=device.type, dtype=torch.float16):
            loss = model(batch.to(device)).mean()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


class Trainer:
    device = "mps"

    def __init__(self, model):
        self.model = model.to(self.device)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.scaler = torch.cuda.amp.GradScaler()  # expect: AMP306 likely

    def step(self, batch):
        self.opt.zero_grad()
        with torch.autocast("mps", dtype=torch.float16):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
