"""A float32 copy that is printed, or becomes text, trains nothing: the weights stay bfloat16."""

import torch


def printed(batches):
    net = torch.nn.Linear(32, 16).to(torch.bfloat16)
    adam = torch.optim.AdamW(net.parameters(), lr=3e-5)  # expect: AMP701
    for inputs, targets in batches:
        adam.zero_grad()
        torch.nn.functional.cross_entropy(net(inputs).float(), targets).backward()
        adam.step()
    print("norm", net.weight.float().norm())


def written(batches, log):
    net = torch.nn.Linear(32, 16).to(torch.bfloat16)
    adam = torch.optim.AdamW(net.parameters(), lr=3e-5)  # expect: AMP701
    for inputs, targets in batches:
        adam.zero_grad()
        torch.nn.functional.cross_entropy(net(inputs).float(), targets).backward()
        adam.step()
    log.info(f"norm {net.weight.float().norm():.3f}")
