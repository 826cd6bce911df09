"""What switches the scaler is a dtype where it is compared with one, in one of the calls at least."""

import torch


def train(net, rows, opt, half="fp16"):
    half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(half, half)
    _steps(net, rows, opt, half)


def _steps(net, rows, opt, half):
    scaler = torch.amp.GradScaler("cuda") if half == torch.float16 else None
    for row in rows:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=half):
            loss = net(row).mean()
        if scaler is None:
            loss.backward()
            opt.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
