import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"wave": self.rows[index][0], "text": self.rows[index][1]}


class Spoken(Clips):
    def __getitem__(self, index):
        item = super().__getitem__(index)
        item["speaker"] = self.rows[index][2]
        return item


def pad(items):
    items = [{**item, "length": len(item["wave"])} for item in items]
    longest = max(item["length"] for item in items)
    speakers = [item["speaker"] for item in items if "speaker" in item]
    return {"longest": longest, "speakers": speakers}


def of_speakers(items):
    for item in items:
        item["half"] = item["wave"][::2]
    return {"half": torch.stack([item["half"] for item in items]), "of": [item["speaker"] for item in items]}


def of_any(items):
    return {"other": [item["other"] for item in items]}


def loaders(rows, unknown):
    yield DataLoader(Clips(rows), collate_fn=pad)
    yield DataLoader(Spoken(rows), collate_fn=of_speakers)
    yield DataLoader(ConcatDataset([Clips(rows)]), collate_fn=of_any)
    yield DataLoader(unknown, collate_fn=of_any)
    yield DataLoader(Clips(rows), batch_size=None, collate_fn=lambda item: item["wave"])
