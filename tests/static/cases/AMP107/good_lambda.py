from concurrent.futures import ThreadPoolExecutor

import torch


def files(model, paths, load):
    pool = ThreadPoolExecutor(4)
    with torch.autocast("cuda"):
        return [model(each) for each in pool.map(lambda path: load(path), paths)]


def tasks(model, transforms, image):
    pool = ThreadPoolExecutor(4)
    with torch.autocast("cuda"):
        return [model(each) for each in pool.map(lambda transform: transform(image), transforms)]
