"""Images alone: of the models that the table holds only one is made for them, and it asks for what they lack."""

import torch
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return {"image": torch.zeros(3)}


class Captioner(torch.nn.Module):
    def forward(self, batch):
        features = batch["image"]
        if "tokens" in batch:
            return self.compare(features, batch["tokens"], batch["lengths"])
        return self.describe(features)


class Unmasker(torch.nn.Module):
    def forward(self, batch):
        return batch["image"], batch["masked"]


class Plain(torch.nn.Module):
    def forward(self, batch):
        features = batch["image"]
        if "label" not in batch:
            return features
        return features, batch["weight"]


MODELS = {"caption": Captioner, "unmask": Unmasker}


def evaluate(kind):
    loader = DataLoader(Pictures(), batch_size=2)
    model, plain = MODELS[kind](), Plain()
    model.eval()
    for batch in loader:
        with torch.autocast("cuda"):
            model(batch)
            plain(batch)
