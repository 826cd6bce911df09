from data import Images, Pairs, Transformed, pad
from torch.utils.data import DataLoader, Subset


def move(batch):
    batch["device_image"] = batch["image"]
    return batch["device_image"]


def known_keys(files):
    for batch in DataLoader(Images(files)):
        batch["twice"] = batch["image"] * 2
        print(batch["index"], batch["twice"], move(batch))
        if "device_image" in batch:
            print(batch["device_image"])


def anything(files, collate, prepare):
    for batch in DataLoader(Transformed(files)):
        print(batch["label"])
    for batch in DataLoader(Subset(Images(files), [0])):
        print(batch["label"])
    for batch in DataLoader(Images(files), collate_fn=collate):
        print(batch["label"])
    for batch in DataLoader(Images(files)):
        batch = prepare(batch)
        print(batch["label"])
    for batch in DataLoader(Images(files), collate_fn=pad):
        print(batch["images"])
    for at, batch in DataLoader(Pairs()):
        print(at, batch["label"])
