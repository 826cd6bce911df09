"""The wall clock is read only where CUDA is not there, or what lies between two readings waits."""

import time

import torch


def bench(model, images):
    if torch.cuda.is_available():
        return by_events(model, images)
    begun = time.perf_counter()
    model(images)
    return time.perf_counter() - begun


def by_events(model, images):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.autocast("cuda"):
        model(images)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


class Timer:
    def __init__(self):
        self.has_gpu = torch.cuda.is_available()

    def run(self, model, images):
        if not self.has_gpu:
            return self.on_the_cpu(model, images)
        return by_events(model, images)

    def on_the_cpu(self, model, images):
        begun = time.time()
        model(images)
        return time.time() - begun


def by_device(model, images, device):
    if device.type == "cuda":
        return by_events(model, images)
    else:
        begun = time.time()
        model(images)
        return time.time() - begun


def waits_each_time(model, batches):
    seconds = []
    last = time.time()
    for images in batches:
        with torch.autocast("cuda"):
            model(images.cuda())
        torch.cuda.synchronize()
        seconds.append(time.time() - last)
        last = time.time()
    return seconds


def reads_a_result(model, batches):
    seconds, total = [], 0.0
    last = time.time()
    for images in batches:
        seconds.append(time.time() - last)
        with torch.autocast("cuda"):
            total += model(images.cuda()).sum().item()
        last = time.time()
    return seconds, total
