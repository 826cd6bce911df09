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
        self.log("mean", outputs["preds"].mean())  # expect: KEY101

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
