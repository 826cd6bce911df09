"""`update()` makes the scaler forget that it has divided: whatever comes next divides again."""

import torch


def before_the_step(model, batches, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.update()  # expect: AMP210
        scaler.step(optimizer)


def unscaled_again(model, batches, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        print(sum(each.grad.norm() for each in model.parameters()))
        scaler.update()  # expect: AMP210
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
