"""A mode that some caller asks for, with a dataset whose items know nothing of it."""

import torch
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"image": torch.zeros(3)}


def train(model, loader, mode="image"):
    for batch in loader:
        if mode == "image":
            inputs = batch["image"]
        elif mode == "feature":
            inputs = batch["features"]  # expect: KEY103
        with torch.autocast("cuda"):
            model(inputs)


def main(model):
    train(model, DataLoader(Volumes(), batch_size=2), mode="feature")
