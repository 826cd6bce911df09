"""Functions that get the batch: certain where one reads whatever happens, likely where it asks for its mode first."""

import torch
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"image": torch.zeros(3)}


class Classifier(torch.nn.Module):
    def forward(self, batch):
        features = batch["image"]
        if self.training:
            return features, batch["label"]  # expect: KEY103 likely
        return features


class Weighted(torch.nn.Module):
    def forward(self, batch):
        return batch["image"], batch["weight"]  # expect: KEY103 likely


class Ranked(torch.nn.Module):
    def forward(self, batch):
        return batch["image"], batch["rank"]  # expect: KEY103 likely


def measure(batch):
    return batch["image"], batch["area"]  # expect: KEY103


def follow(batch):
    if "image" in batch:
        batch["path"]  # expect: KEY103 likely
    if "mask" not in batch:
        batch["box"]  # expect: KEY103 likely


def train(ranked):
    loader = DataLoader(Pictures(), batch_size=2)
    model = Classifier()
    other = Ranked() if ranked else Weighted()
    for batch in loader:
        with torch.autocast("cuda"):
            model(batch)
            other(batch)
            measure(batch)
            follow(batch)
