import torch
from accelerate import Accelerator


def train(net, data, path):
    accelerator = Accelerator(mixed_precision="bf16")
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in data:
        accelerator.backward(net(**batch).loss)
        opt.step()
    torch.save({"opt": opt.state_dict()}, path)


def show(net):
    accelerator = Accelerator(mixed_precision="fp16")
    net, opt = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    print(opt.state_dict()["param_groups"])
