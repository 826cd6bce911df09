from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return {"image": index, "label": index % 2}


class Others(Pairs):
    def __getitem__(self, index):
        return {"text": index}


def train(net):
    accelerator = Accelerator()
    first, second = DataLoader(Pairs(), batch_size=4), DataLoader(Others(), batch_size=4)
    net, first, second = accelerator.prepare(net, first, second)
    for batch in first:
        yield net(batch["image"]), batch["label"]
    for batch in second:
        yield batch["text"]
