"""Options for workers that are there, may be there, or are off."""

from torch.utils.data import DataLoader

DEBUG = False
OPTIONS = {"num_workers": 4}
LATER = {"persistent_workers": True}
LATER["num_workers"] = 2


class Loader:
    def __init__(self, dataset, persistent_workers):
        self.dataset, self.persistent_workers = dataset, persistent_workers


def build(dataset, workers, options):
    yield DataLoader(dataset, num_workers=2, persistent_workers=True, prefetch_factor=4)
    yield DataLoader(dataset, num_workers=workers, persistent_workers=True)
    yield DataLoader(dataset, num_workers=workers, persistent_workers=workers > 0)
    yield DataLoader(dataset, persistent_workers=False, prefetch_factor=None)
    yield DataLoader(dataset, prefetch_factor=2, **options)
    yield DataLoader(dataset, prefetch_factor=2, **OPTIONS)
    yield DataLoader(dataset, **LATER)
    yield DataLoader(dataset, 4, True, None, None, 8, persistent_workers=True)
    yield Loader(dataset, persistent_workers=True)


class Config:
    def __init__(self):
        self.num_workers = 0

    def loader(self, dataset):
        return DataLoader(dataset, num_workers=self.num_workers, persistent_workers=True)


class FileConfig(Config):
    """What it reads decides what its attributes are."""

    def __init__(self, read):
        super().__init__()
        for key in super().__dict__:
            if key in read:
                self.__dict__[key] = read[key]
