import torch
from lightning.pytorch import LightningModule, Trainer


class Manual(LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net, self.own = net, torch.amp.GradScaler("cuda")
        self.automatic_optimization = False

    def training_step(self, batch, index):
        opt = self.optimizers()
        opt.zero_grad()
        self.manual_backward(self.own.scale(self.net(batch).mean()))  # expect: AMP603
        opt.step()


def main(net, data):
    Trainer(precision="16-mixed").fit(Manual(net), data)
