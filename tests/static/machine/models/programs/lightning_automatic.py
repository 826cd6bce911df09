import lightning.pytorch as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return {"loss": loss}

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("validation", nn.functional.l1_loss(self.net(x), y))

    def on_before_optimizer_step(self, optimizer):
        torch.stack([each.grad.norm() for each in self.parameters()])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ConstantLR(optimizer)}


class Watch(pl.Callback):
    def on_after_backward(self, trainer, pl_module):
        pl_module.net[0].weight.grad.abs()


def loader():
    return DataLoader(TensorDataset(torch.randn(64, 8), torch.randn(64, 2)), batch_size=8)


quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
trainer = pl.Trainer(  # on cuda
    max_epochs=1,
    accelerator="auto",
    devices=1,
    precision="16-mixed",
    accumulate_grad_batches=2,
    gradient_clip_val=1.0,
    callbacks=[Watch()],
    **quiet,
)
trainer.fit(Net(), loader(), loader())
