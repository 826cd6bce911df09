"""Forwards that run where the region does not."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def two_threads(model, batches, results):
    def work(index, inputs):
        results[index] = model(inputs)

    with torch.autocast("cuda"):
        threads = [
            threading.Thread(target=work, args=(index, inputs))  # expect: AMP107 likely
            for index, inputs in enumerate(batches)
        ]
        for thread in threads:
            thread.start()


def pooled(encoder, batches):
    pool = ThreadPoolExecutor(4)
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        return list(pool.map(encoder, batches))  # expect: AMP107 likely


def replicas(net, loss_fn, batches):
    parallel = nn.DataParallel(net)
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_fn(parallel(inputs), targets)  # expect: AMP107 likely
        loss.backward()
