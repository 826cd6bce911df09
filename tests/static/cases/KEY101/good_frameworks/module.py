import lightning as L
import torch


class Classify(L.LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion

    def training_step(self, batch, batch_idx):
        inputs, targets = batch
        outputs = self.net(inputs)
        return {"loss": self.criterion(outputs, targets), "outputs": outputs.detach()}

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.log("mean", outputs["outputs"].mean())
        self.log("preds", outputs.get("preds", 0.0))
        self.log("labels", batch["labels"].float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class Plain(Classify):
    def training_step(self, batch, batch_idx):
        return super().training_step(batch, batch_idx)["loss"]

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.log("mean", outputs["loss"].mean())


class More(Classify):
    def training_step(self, batch, batch_idx):
        return {**super().training_step(batch, batch_idx), "preds": 1}

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.log("mean", outputs["preds"])
