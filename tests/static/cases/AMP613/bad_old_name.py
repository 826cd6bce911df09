import lightning as L
import torch


def train(net, data, opt):
    fabric = L.Fabric(precision="16-mixed")
    prepared = fabric.setup_module(net)
    opt = fabric.setup_optimizers(opt)
    for x, y in data:
        out = net(x)  # expect: AMP613
        loss = (out - y).square().mean()
        fabric.backward(loss)
        opt.step()
    return prepared


def in_one_line(net, data):
    fabric = L.Fabric(precision=16)
    ready, opt = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for x in fabric.setup_dataloaders(data):
        fabric.backward(net(x).mean())  # expect: AMP613
        opt.step()
    return ready
