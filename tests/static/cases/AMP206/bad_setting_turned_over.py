"""A training that is run twice, with the scaler and without: gradients may be left over where every window ends late."""

import torch


def train(model, optimizer, batches, steps, config):
    if config.use_fp16:
        scaler = torch.amp.GradScaler()
    for step, batch in enumerate(batches):
        with torch.autocast("cuda", enabled=config.use_fp16):
            loss = model(batch) / steps
        if config.use_fp16:
            scaler.scale(loss).backward()
            if (step + 1) % steps == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        else:
            loss.backward()  # expect: AMP206 likely
            if (step + 1) % steps == 0:
                optimizer.step()
                optimizer.zero_grad()


def both(model, optimizer, batches, config):
    config.use_fp16 = False
    train(model, optimizer, batches, 4, config)
    config.use_fp16 = True
    train(model, optimizer, batches, 2, config)
