import lightning as L
import torch


def train(net, data):
    fabric = L.Fabric(precision="16-mixed")
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net = fabric.setup_module(net)
    for x, y in fabric.setup_dataloaders(data):
        loss = (net(x) - y).square().mean()
        fabric.backward(loss)
        opt.step()  # expect: AMP602
        opt.zero_grad()
