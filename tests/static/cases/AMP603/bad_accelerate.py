import torch
from accelerate import Accelerator


def steps(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    own = torch.amp.GradScaler()
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        own.scale(net(**batch).loss).backward()
        own.step(opt)  # expect: AMP603
        own.update()
        opt.zero_grad()


def scales(net, data):
    accelerator = Accelerator(mixed_precision="fp16")
    grads = torch.amp.GradScaler()
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        scaled = grads.scale(net(**batch).loss)
        accelerator.backward(scaled)  # expect: AMP603
        opt.step()
        opt.zero_grad()
