"""Threads that compute nothing in half precision, or that enter a region themselves."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def saving_aside(model, batches, save):
    pool = ThreadPoolExecutor(4)
    with torch.autocast("cuda"):
        for inputs in batches:
            pool.submit(save, model(inputs))


def region_of_its_own(model, batches, results):
    def work(inputs):
        with torch.autocast("cuda"):
            results.append(model(inputs))

    with torch.autocast("cuda"):
        for inputs in batches:
            threading.Thread(target=work, args=(inputs,)).start()


def replicas_in_the_default_dtype(net, loss_fn, scaler, batches):
    parallel = nn.DataParallel(net)
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(parallel(inputs), targets)
        scaler.scale(loss).backward()


def one_process_per_device(net, loss_fn, batches):
    parallel = nn.parallel.DistributedDataParallel(net)
    for inputs, targets in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_fn(parallel(inputs), targets)
        loss.backward()


def mapped_values(frame, model):
    with torch.autocast("cuda"):
        return frame.map(model)
