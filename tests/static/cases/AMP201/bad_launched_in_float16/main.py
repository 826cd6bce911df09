import torch
from accelerate import Accelerator


def train(net, rows):
    accelerator = Accelerator()
    adam = torch.optim.Adam(net.parameters())
    net, adam, rows = accelerator.prepare(net, adam, rows)
    for row in rows:
        accelerator.backward(net(row).mean())
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # expect: AMP201 likely
        adam.step()
        adam.zero_grad()
