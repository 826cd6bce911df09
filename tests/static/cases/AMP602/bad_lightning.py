import torch
from lightning.pytorch import LightningModule, Trainer


class Manual(LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.automatic_optimization = False

    def training_step(self, batch, index):
        self.own.zero_grad()
        self.manual_backward(self.net(batch).mean())
        self.own.step()  # expect: AMP602

    def configure_optimizers(self):
        self.own = torch.optim.SGD(self.net.parameters(), lr=0.1)
        return self.own


class Plain(Manual):
    def training_step(self, batch, index):
        inner = self.optimizers(use_pl_optimizer=False)
        inner.zero_grad()
        self.manual_backward(self.net(batch).mean())
        inner.step()  # expect: AMP602


def main(net, data):
    Trainer(precision="16-mixed").fit(Manual(net), data)
    Trainer(precision="16-mixed").fit(Plain(net), data)
