"""A clip that raises where no scaler is live, or one that is told not to."""

import torch


def in_bfloat16(net, opt, batches):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    for batch in batches:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
        scaler.step(opt)
        scaler.update()


def in_float16(net, opt, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=False)
        scaler.step(opt)
        scaler.update()
