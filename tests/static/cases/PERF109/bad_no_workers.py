"""Options for workers, and none."""

from torch.utils import data
from torch.utils.data import DataLoader

OPTIONS = {"num_workers": 0, "persistent_workers": True}
WORKERS = 0


def build(dataset):
    first = DataLoader(dataset, batch_size=4, persistent_workers=True)  # expect: PERF109
    second = data.DataLoader(dataset, 4, True, None, None, WORKERS, prefetch_factor=2)  # expect: PERF109
    third = DataLoader(dataset, **OPTIONS)  # expect: PERF109
    fourth = DataLoader(dataset, multiprocessing_context="spawn")  # expect: PERF109
    return first, second, third, fourth
