import torch
from accelerate import Accelerator


def guarded(net, data):
    acc = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with acc.accumulate(net):
            acc.backward(net(**batch).loss)
            if acc.sync_gradients:
                acc.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()


def by_a_count(net, data, every):
    acc = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=every)
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for number, batch in enumerate(data, 1):
        with acc.accumulate(net):
            acc.backward(net(**batch).loss)
            is_last = number % every == 0
            if is_last:
                acc.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()


def one_at_a_time(net, data):
    acc = Accelerator(mixed_precision="fp16")
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with acc.accumulate(net):
            acc.backward(net(**batch).loss)
            acc.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            opt.zero_grad()


def behind_the_micro_batches(net, data):
    acc = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for micro_batches in data:
        for batch in micro_batches:
            acc.backward(net(**batch).loss)
        acc.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()


def guarded_with_a_limit(net, data, limit):
    acc = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with acc.accumulate(net):
            acc.backward(net(**batch).loss)
            if acc.sync_gradients and limit is not None and limit > 0:
                acc.clip_grad_norm_(net.parameters(), limit)
            opt.step()
            opt.zero_grad()
