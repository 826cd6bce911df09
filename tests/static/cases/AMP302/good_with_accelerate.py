import torch
from accelerate import Accelerator


class Runner:
    def __init__(self, net):
        self.accelerator = Accelerator(mixed_precision="fp16")
        self.net, self.opt = self.accelerator.prepare(net, torch.optim.AdamW(net.parameters()))

    def step(self, batch):
        self.accelerator.backward(self.net(**batch).loss)
        self.opt.step()

    def save(self, path):
        state = {"opt": self.opt.state_dict(), "scaler": self.accelerator.scaler.state_dict()}
        torch.save(state, path)
