import lightning as L
import torch


class Segment(L.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion

    def training_step(self, batch, batch_idx):
        batch["twice"] = 2 * batch["volume"]
        if "weight" in batch:
            return self.criterion(self.net(batch["twice"]), batch["organ"]) * batch["weight"]
        return self.criterion(self.net(batch["volume"]), batch["organ"])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class OfMasks(Segment):
    def training_step(self, batch, batch_idx):
        return self.criterion(self.net(batch["volume"]), batch["mask"])


class MovesItself(Segment):
    def training_step(self, batch, batch_idx):
        return self.criterion(self.net(batch["volume"]), batch["depth"])

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return {"volume": batch["volume"].to(device), "depth": batch["organ"].to(device)}
