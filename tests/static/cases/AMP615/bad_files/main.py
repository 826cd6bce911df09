import lightning as L
from callback import Average
from torch import nn
from torch.optim.swa_utils import AveragedModel


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 1)
        self.average = AveragedModel(self.net)

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.average.update_parameters(self.net)  # expect: AMP615 likely


def main(loader):
    L.Trainer(precision="16-mixed", accumulate_grad_batches=4, callbacks=[Average()]).fit(Net(), loader)
