"""The program has an Accelerator for one loop; the optimizer of the other one was never given to it."""

import torch
from accelerate import Accelerator


def pretrain(model, batches):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    for batch in batches:
        loss = model(batch).mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def probe(model, head, batches):
    optimizer = torch.optim.AdamW(head.parameters())
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305 likely
            loss = head(model(batch)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
