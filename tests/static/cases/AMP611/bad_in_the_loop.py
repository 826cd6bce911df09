import torch
from accelerate import Accelerator


def train(net, data):
    acc = Accelerator(mixed_precision="fp16")
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for epoch in range(3):
        for batch in data:
            acc.backward(net(**batch).loss)
            opt.step()
        torch.save(acc.unwrap_model(net, keep_fp32_wrapper=False).state_dict(), "net.pt")  # expect: AMP611


def every_step(net, data):
    acc = Accelerator(mixed_precision="bf16")
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        acc.backward(net(**batch).loss)
        opt.step()
        norm = acc.unwrap_model(net, False).head.weight.norm()  # expect: AMP611
    return norm
