"""What switches the scaler compares a word with a dtype, which are never equal."""

import torch

KINDS = {"fp16": torch.float16, "bf16": torch.bfloat16}


def train(net, rows, opt, half="fp16"):
    scaler = torch.amp.GradScaler("cuda") if half == torch.float16 else None  # expect: AMP303 likely
    for row in rows:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=KINDS[half]):
            loss = net(row).mean()
        if scaler is None:
            loss.backward()
            opt.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
