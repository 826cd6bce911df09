import torch
from lightning.pytorch import LightningModule, Trainer


class Manual(LightningModule):
    def __init__(self, body, head):
        super().__init__()
        self.body, self.head = body, head
        self.automatic_optimization = False

    def training_step(self, batch, index):
        one, two = self.optimizers()
        one.zero_grad()
        two.zero_grad()
        self.manual_backward(self.body(batch).mean())
        self.manual_backward(self.head(batch).mean())
        one.step()
        two.step()  # expect: AMP605

    def configure_optimizers(self):
        return torch.optim.SGD(self.body.parameters(), lr=0.1), torch.optim.SGD(self.head.parameters(), lr=0.1)


def main(body, head, data):
    Trainer(precision="16-mixed").fit(Manual(body, head), data)
