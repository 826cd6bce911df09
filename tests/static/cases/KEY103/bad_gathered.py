"""A batch that goes to a function by `*args` and by `**kwargs`, and is read in the loop as well."""

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"image": torch.zeros(3), "label": index}


def keep(*seen, **named):
    return seen, named


def train(model):
    loader = DataLoader(Images(), batch_size=2)
    for batch in loader:
        keep(batch)
        keep("train", batch, last=batch)
        with torch.autocast("cuda"):
            model(batch["image"], batch["target"])  # expect: KEY103
