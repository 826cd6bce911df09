import lightning as L
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        volume, organ = self.files[index]
        return {"volume": volume, "organ": organ}


class Clinic(L.LightningDataModule):
    def __init__(self, files):
        super().__init__()
        self.files = files

    def train_dataloader(self):
        return DataLoader(Scans(self.files), batch_size=4)


class Augmented(Clinic):
    def on_after_batch_transfer(self, batch, dataloader_idx):
        batch["mask"] = batch["organ"] > 0
        return batch
