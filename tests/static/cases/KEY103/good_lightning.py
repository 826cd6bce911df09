import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset


class Words(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return dict(tokens=self.rows[index][0], target=self.rows[index][1])


class Reads(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, batch_idx):
        return self.net(batch["tokens"], batch["target"])

    def validation_step(self, batch, batch_idx, dataloader_idx=0):
        self.log("val", self.net(batch["token"], batch["target"]))  # of a loader that is not in sight


class Combined(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        one, other = batch["one"], batch["other"]
        return one["tokens"] @ other["tokens"]


class Mixes(pl.Callback):
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        batch["mixed"] = batch["tokens"].flip(0)


class OfMixed(Reads):
    def training_step(self, batch, batch_idx):
        return self.net(batch["tokens"], batch["mixed"])


def main(net, rows, val):
    train = DataLoader(Words(rows), batch_size=8)
    pl.Trainer(precision=16).fit(Reads(net), train, val)
    pl.Trainer(precision=16).fit(Combined(), {"one": train, "other": train})
    pl.Trainer(precision=16, callbacks=[Mixes()]).fit(OfMixed(net), train)
