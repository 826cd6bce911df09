from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, files, transform=None):
        self.files, self.transform = files, transform

    def __getitem__(self, at):
        return {"image": self.files[at], "index": at}


class Transformed(Images):
    def __getitem__(self, at):
        return self.transform({"image": self.files[at]})


class Pairs(Dataset):
    def __getitem__(self, at):
        return at, {"image": at}


def pad(samples):
    return {"images": [each["image"] for each in samples]}
