from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return {"image": index, "label": index % 2}


class Runner:
    def __init__(self, net):
        self.accelerator = Accelerator()
        self.net, self.data = self.accelerator.prepare(net, DataLoader(Pairs(), batch_size=4))

    def run(self):
        for batch in self.data:
            yield self.net(batch["image"]), batch["target"]  # expect: KEY103


def alone(net):
    accelerator = Accelerator()
    data = accelerator.prepare(DataLoader(Pairs(), batch_size=4))
    for batch in data:
        yield net(batch["picture"]), batch["label"]  # expect: KEY103
