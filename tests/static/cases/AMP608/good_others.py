import torch
from lightning.fabric import Fabric
from pytorch_lightning import LightningModule, Trainer


class WithEps(LightningModule):
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3, eps=1e-4)


class WithoutState(LightningModule):
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


class OfASetting(LightningModule):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), eps=self.eps)


def main(data, eps):
    for net in (WithEps(), WithoutState(), OfASetting(eps)):
        Trainer(precision="16-true").fit(net, data)


def mixed(net, data):
    fabric = Fabric(precision="16-mixed")
    net, opt = fabric.setup(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        fabric.backward(net(batch).mean())
        opt.step()
