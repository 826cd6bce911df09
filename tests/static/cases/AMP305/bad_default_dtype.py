"""float16 by default, and no scaler."""

import torch
from torch.cuda import amp


def deprecated(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        with amp.autocast():  # expect: AMP305
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


def by_device(model, optimizer, batches, use_amp):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=use_amp):  # expect: AMP305
            out = model(batch)
            loss = out.mean()
        (loss / 4).backward()
        optimizer.step()


def chosen(model, optimizer, batches, args):
    dtype = torch.bfloat16 if args.bf16 else torch.half
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype):  # expect: AMP305 likely
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
