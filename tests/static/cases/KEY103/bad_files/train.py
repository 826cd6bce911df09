import torch
from data import Images, loader, pad
from torch.utils.data import DataLoader
from tqdm import tqdm


def step(model, batch):
    return model(batch["image"], batch["boxes"])  # expect: KEY103


def epoch(model, files, optimizer):
    for number, batch in enumerate(tqdm(loader(files))):
        optimizer.zero_grad()
        loss = step(model, batch) + number
        loss.backward()
        optimizer.step()
        print(batch["index"], batch["mask"], batch["target"])  # expect: KEY103


def collated(model, files):
    feed = DataLoader(Images(files), batch_size=4, collate_fn=pad)
    with torch.no_grad():
        for batch in feed:
            model(batch["image"])  # expect: KEY103
