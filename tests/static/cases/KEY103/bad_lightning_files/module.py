import lightning as L
import torch


class Segment(L.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion

    def training_step(self, batch, batch_idx):
        loss = self.measure(batch)
        self.log("spacing", batch["spacing"])  # expect: KEY103
        return loss

    def measure(self, batch):
        return self.criterion(self.net(batch["volume"]), batch["mask"])  # expect: KEY103

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
