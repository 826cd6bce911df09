import torch
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"wave": self.rows[index][0], "text": self.rows[index][1]}


def pad(items):
    longest = max(len(item["waves"]) for item in items)  # expect: KEY103
    out = torch.zeros(len(items), longest)
    for row, item in enumerate(items):
        out[row, : len(item["wave"])] = item["wave"]
    return {"wave": out, "text": [item["txt"] for item in items]}  # expect: KEY103


class Stacks:
    def __init__(self, name):
        self.name = name

    def __call__(self, features):
        rate = features[0]["rate"]  # expect: KEY103
        return {"wave": torch.stack([each["wave"] for each in features]), "rate": rate}


def loaders(rows):
    return DataLoader(Clips(rows), collate_fn=pad), DataLoader(Clips(rows), collate_fn=Stacks("wave"))
