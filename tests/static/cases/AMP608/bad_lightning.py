import torch
from pytorch_lightning import LightningModule, Trainer


class Net(LightningModule):
    def configure_optimizers(self):
        settings = torch.optim.Adam(self.parameters(), lr=1e-3, betas=(0.9, 0.95))  # expect: AMP608
        return {"optimizer": settings}


class Other(LightningModule):
    def configure_optimizers(self):
        return [torch.optim.AdamW(self.parameters(), 1e-3, (0.9, 0.999), 1e-8)], []  # expect: AMP608


def main(data):
    Trainer(precision="16-true").fit(Net(), data)
    trainer = Trainer(precision="16-true")
    trainer.fit(Other(), data)
