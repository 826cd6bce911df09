"""What a library's function gives is a model where its parameters are asked for."""

import torch
from zoo import build_classifier

net_in_half = build_classifier().cuda().half()  # expect: AMP401
optimizer = torch.optim.SGD(net_in_half.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")


def fit(batches):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(net_in_half(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
