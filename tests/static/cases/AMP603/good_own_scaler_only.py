import torch
from accelerate import Accelerator


def full_precision(net, data):
    accelerator = Accelerator(mixed_precision="no")
    scaler = torch.amp.GradScaler()
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(**batch).loss
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def not_said(net, data):
    accelerator = Accelerator()
    scaler = torch.amp.GradScaler()
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(**batch).loss
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()


def its_own(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        accelerator.scaler.scale(net(**batch).loss).backward()
        accelerator.scaler.step(opt.optimizer)
        accelerator.scaler.update()


def another_network(net, probe, data):
    accelerator = Accelerator(mixed_precision="fp16")
    scaler = torch.amp.GradScaler()
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    own = torch.optim.SGD(probe.parameters(), lr=0.1)
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()
        scaler.scale(probe(**batch).loss).backward()
        scaler.step(own)
        scaler.update()
