"""What a region does not reach, and what half precision cannot hold."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn import functional

F16 = torch.float16


def region_for_another_device(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("xpu", dtype=F16):  # AMP105
            loss = w.model(batch).pow(2).mean()
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def teacher_on_another_device(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("xpu", dtype=F16):
            target = w.model(batch).detach()
        with torch.autocast("cpu", dtype=F16):
            loss = (w.model(batch).float() - target).pow(2).mean()
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loss_behind_the_region(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=F16):
            outputs = w.model(batch)
        loss = functional.mse_loss(outputs, torch.zeros(8, 1, dtype=F16))  # AMP110
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loss_that_is_promoted(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=F16):
            outputs = w.model(batch)
        loss = functional.mse_loss(outputs, torch.zeros(8, 1))
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loss_of_an_evaluation(w):
    with torch.autocast("cpu", dtype=F16):
        outputs = w.model(w.batches[0])
    functional.mse_loss(outputs, torch.zeros(8, 1, dtype=F16)).item()  # AMP110
    w.scaler.scale(w.loss(w.batches[1])).backward()
    w.scaler.step(w.optimizer)
    w.scaler.update()


def mask_that_raises(w):
    with torch.autocast("cpu", dtype=F16):
        w.model(w.batches[0]).masked_fill(torch.ones(8, 1, dtype=torch.bool), -1e9)  # AMP403


def mask_that_is_silent(w):
    with torch.autocast("cpu", dtype=F16):
        scores = w.model(w.batches[0])
        torch.where(scores > 0, scores, -1e9)  # AMP403


def masks_that_hold(w):
    with torch.autocast("cpu", dtype=F16):
        scores = w.model(w.batches[0])
        scores.masked_fill(scores > 0, torch.finfo(scores.dtype).min)
        torch.where(scores > 0, scores, float("-inf"))
        scores.float().masked_fill(scores > 0, -1e9)
        torch.where(scores > 0, scores.float(), -1e9)


def mask_outside(w):
    torch.zeros(2).masked_fill(torch.ones(2, dtype=torch.bool), -1e9)


def forward_in_a_thread(w):
    with torch.autocast("cpu", dtype=F16):
        worker = threading.Thread(target=w.model, args=(w.batches[0],))
        worker.start()  # AMP107
        worker.join()


def forward_in_a_pool(w):
    with ThreadPoolExecutor(1) as pool, torch.autocast("cpu", dtype=F16):
        pool.submit(w.model, w.batches[0]).result()  # AMP107


def forward_with_a_region_of_its_own(w):
    with ThreadPoolExecutor(1) as pool, torch.autocast("cpu", dtype=F16):
        pool.submit(w.loss, w.batches[0]).result()


def pool_that_began_in_a_region(w):
    with ThreadPoolExecutor(1) as pool:
        with torch.autocast("cpu", dtype=F16):
            pool.submit(int).result()
        pool.submit(w.model, w.batches[0]).result()
