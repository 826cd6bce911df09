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
        return self.net(batch["tokens"], batch["targets"])  # expect: KEY103

    def validation_step(self, batch, batch_idx):
        self.log("val", self.net(batch["token"], batch["target"]))  # expect: KEY103


class BringsItsOwn(Reads):
    def __init__(self, net, rows):
        super().__init__(net)
        self.rows = rows

    def train_dataloader(self):
        return DataLoader(Words(self.rows), batch_size=8)

    def training_step(self, batch, batch_idx):
        if self.current_epoch > 3:
            return self.net(batch["tokens"], batch["mask"])  # expect: KEY103 likely
        return self.net(batch["tokens"], batch["target"])


def main(net, rows):
    trainer = pl.Trainer(precision=16)
    train, val = DataLoader(Words(rows), batch_size=8), DataLoader(Words(rows))
    trainer.fit(Reads(net), train_dataloaders=train, val_dataloaders=val)
    pl.Trainer(precision="bf16-mixed").fit(BringsItsOwn(net, rows))
