import torch
from lightning.fabric import Fabric


def train(net, data):
    fabric = Fabric(precision="bf16-true")
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)  # expect: AMP701 likely
    net, optimizer = fabric.setup(net, optimizer)
    for batch in data:
        fabric.backward(net(batch).mean())
        optimizer.step()


def separately(net, data):
    fabric = Fabric(precision="bf16-true", devices=1)
    net = fabric.setup_module(net)
    optimizer = fabric.setup_optimizers(torch.optim.Adam(net.parameters(), lr=3e-5))  # expect: AMP701 likely
    for batch in data:
        fabric.backward(net(batch).mean())
        optimizer.step()


def cast(net, data):
    fabric = Fabric(precision="bf16-mixed")
    net = net.bfloat16()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5)  # expect: AMP701 likely
    net, optimizer = fabric.setup(net, optimizer)
    for batch in data:
        fabric.backward(net(batch).mean())
        optimizer.step()
