import torch
from accelerate import Accelerator


def after_the_training(net, data):
    acc = Accelerator(mixed_precision="fp16")
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        acc.backward(net(**batch).loss)
        opt.step()
        torch.save(acc.unwrap_model(net).state_dict(), "net.pt")
        torch.save(acc.unwrap_model(net, keep_fp32_wrapper=True).state_dict(), "net.pt")
    torch.save(acc.unwrap_model(net, keep_fp32_wrapper=False), "last.pt")


def full_precision(net, data):
    acc = Accelerator(mixed_precision="no")
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in data:
        acc.backward(net(**batch).loss)
        opt.step()
        torch.save(acc.unwrap_model(net, keep_fp32_wrapper=False).state_dict(), "net.pt")


def and_then_it_ends(net, data, limit):
    acc = Accelerator(mixed_precision="fp16")
    net, opt = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for number, batch in enumerate(data):
        acc.backward(net(**batch).loss)
        opt.step()
        if number > limit:
            torch.save(acc.unwrap_model(net, keep_fp32_wrapper=False), "last.pt")
            break
