import torch
from accelerate import Accelerator


def train(net, data):
    acc = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with acc.accumulate(net):
            acc.backward(net(**batch).loss)
            acc.clip_grad_norm_(net.parameters(), 1.0)  # expect: AMP604
            opt.step()
            opt.zero_grad()


def bfloat16(net, data):
    acc = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=8)
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with acc.accumulate(net):
            acc.backward(net(**batch).loss)
            acc.clip_grad_value_(net.parameters(), 1.0)  # expect: AMP604
            opt.step()
            opt.zero_grad()


def by_settings(net, data, args):
    acc = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=args.accumulation)
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with acc.accumulate(net):
            acc.backward(net(**batch).loss)
            if args.max_grad_norm is not None:
                acc.clip_grad_norm_(net.parameters(), args.max_grad_norm)  # expect: AMP604 likely
            opt.step()
            opt.zero_grad()


def by_hand(net, data):
    acc = Accelerator(mixed_precision="fp16")
    net, opt = acc.prepare(net, torch.optim.AdamW(net.parameters()))
    for number, batch in enumerate(data):
        acc.backward(net(**batch).loss / 2)
        acc.clip_grad_norm_(net.parameters(), 1.0)  # expect: AMP604
        if number % 2:
            opt.step()
            opt.zero_grad()
