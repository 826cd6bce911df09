import lightning.pytorch as pl
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
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict()}, path)  # expect: AMP302 likely

    def load(self, path):
        self.opt.load_state_dict(torch.load(path)["opt"])


class Net(pl.LightningModule):
    def on_train_epoch_end(self):
        kept = {"opt": self.optimizers().state_dict()}  # expect: AMP302 likely
        torch.save(kept, "last.pt")


def main(data):
    pl.Trainer(precision="16-mixed").fit(Net(), data)
