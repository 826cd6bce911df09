"""The clock is read at the end of an iteration, and its start is that of the one before."""

import time

import torch


def measure(model, batches):
    model = model.cuda().eval()
    seconds = []
    last = time.perf_counter()
    with torch.no_grad():
        for images in batches:
            with torch.autocast("cuda"):
                model(images.cuda())
            now = time.perf_counter()  # expect: PERF108 likely
            seconds.append(now - last)
            last = now
    return seconds


class Bench:
    def __init__(self, model):
        self.model = model.cuda()
        self.spent = []

    def run(self, batches):
        before = time.time()
        for images in batches:
            with torch.no_grad(), torch.autocast("cuda"):
                self.model(images.cuda())
            self.spent.append(time.time() - before)  # expect: PERF108 likely
            before = time.time()


def only_logged(model, images):
    model = model.cuda()
    begun = time.time()
    with torch.autocast("cuda"):
        outputs = model(images.cuda())
    print(f"forward queued in {time.time() - begun:.3f} s")  # expect: PERF108
    return outputs
