"""A clip that raises where the norm is not finite, as it is at the scaler's first overflow."""

import torch


def train(net, opt, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)  # expect: AMP214 likely
        scaler.step(opt)
        scaler.update()
