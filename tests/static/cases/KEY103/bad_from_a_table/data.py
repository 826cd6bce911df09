from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        inputs, targets = self.rows[index]
        return {"inputs": inputs, "targets": targets}


def loaders(rows):
    return {"train": DataLoader(Pairs(rows[1:]), batch_size=8), "valid": DataLoader(Pairs(rows[:1]), batch_size=8)}
