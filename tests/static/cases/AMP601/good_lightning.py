import torch
from lightning import LightningModule, Trainer


class WithItsHook(LightningModule):
    def training_step(self, batch, index):
        return self(batch).mean()

    def backward(self, loss):
        loss.backward(retain_graph=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Manual(LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch, index):
        opt = self.optimizers()
        opt.zero_grad()
        self.manual_backward(self(batch).mean())
        opt.step()

    def backward(self, loss, *arguments, **keywords):
        loss.backward(*arguments, **keywords)


def main(data, name):
    trainer = Trainer(precision="16-mixed")
    trainer.fit(WithItsHook() if name == "auto" else Manual(), data)
