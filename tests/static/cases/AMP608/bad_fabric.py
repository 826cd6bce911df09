from lightning.fabric import Fabric
from torch.optim import AdamW


def train(net, data):
    fabric = Fabric(precision="16-true")
    net = fabric.setup_module(net)
    opt = fabric.setup_optimizers(AdamW(net.parameters(), lr=1e-4))  # expect: AMP608
    for batch in data:
        fabric.backward(net(batch).mean())
        opt.step()
