import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def training_step(self, batch, batch_idx):
        x, y = batch
        first, second = self.optimizers()
        loss = nn.functional.mse_loss(self.head(self.body(x).relu()), y)
        first.zero_grad()
        second.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(first, gradient_clip_val=1.0, gradient_clip_algorithm="value")
        first.step()
        second.step()

    def configure_optimizers(self):
        return torch.optim.SGD(self.body.parameters(), lr=1e-3), torch.optim.SGD(self.head.parameters(), lr=1e-3)


quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
data = DataLoader(TensorDataset(torch.randn(64, 8), torch.randn(64, 2)), batch_size=8)
pl.Trainer(max_epochs=1, accelerator="auto", devices=1, precision="16-mixed", **quiet).fit(Net(), data)  # on cuda
