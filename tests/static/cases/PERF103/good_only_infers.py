"""A file that trains nothing: each volume may need all the memory there is."""

import torch
from torch.utils.data import DataLoader


@torch.no_grad()
def infer(model, volumes, write):
    loader = DataLoader(volumes, num_workers=2)
    for volume in loader:
        torch.cuda.empty_cache()
        with torch.autocast("cuda"):
            write(model(volume.cuda()))
