import torch
from pytorch_lightning import LightningModule, Trainer


class Manual(LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.automatic_optimization = False

    def training_step(self, batch, index):
        first, second = self.optimizers()
        first.zero_grad()
        loss = self.net(batch).mean()
        loss.backward()  # expect: AMP601
        first.step()
        second.zero_grad()
        self.manual_backward(self.net(batch).square().mean())
        second.step()

    def configure_optimizers(self):
        return [torch.optim.SGD(self.net.parameters(), lr=0.1), torch.optim.SGD(self.net.parameters(), lr=0.2)]


def main(net, data):
    Trainer(max_epochs=3, precision=16).fit(Manual(net), data)
