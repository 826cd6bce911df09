import lightning as L
import torch
from torch import nn


class Half(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        inputs, targets = batch
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP614
            outputs = self.net(inputs)
        return nn.functional.mse_loss(outputs.float(), targets)


class InAMethod(Half):
    def training_step(self, batch, batch_idx):
        return self.measure(*batch)

    def measure(self, inputs, targets):
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16):  # expect: AMP614
            return nn.functional.mse_loss(self.net(inputs), targets)


class Decorated(Half):
    @torch.autocast("cuda", dtype=torch.float16)  # expect: AMP614
    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()


def main(loader):
    for net in (Half(), Decorated()):
        L.Trainer(precision="bf16-mixed").fit(net, loader)
    L.Trainer(precision="16-mixed").fit(InAMethod(), loader)
