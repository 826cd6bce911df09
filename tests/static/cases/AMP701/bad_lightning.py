import lightning as L
import torch
from torch import nn


class Tune(L.LightningModule):
    def __init__(self, model, rate):
        super().__init__()
        self.model = model
        self.rate = rate

    def training_step(self, batch, batch_idx):
        return self.model(**batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)  # expect: AMP701


class OfItsModel(Tune):
    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=2e-5)  # expect: AMP701
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ConstantLR(optimizer)}


class WithAHead(L.LightningModule):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(16, 2)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-5)  # expect: AMP701 likely


class ByPrecision(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(16, 2)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)  # expect: AMP701


class CastBefore(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(16, 2)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)  # expect: AMP701


def main(net, loader):
    net.to(torch.bfloat16)
    L.Trainer(precision="bf16-mixed").fit(Tune(net, 1.0), loader)
    L.Trainer(precision="bf16-mixed").fit(OfItsModel(net, 1.0), loader)
    L.Trainer(precision="bf16-mixed").fit(WithAHead(net), loader)
    L.Trainer(precision="bf16-true").fit(ByPrecision(), loader)
    cast = CastBefore()
    cast.to(torch.bfloat16)
    L.Trainer().fit(cast, loader)
