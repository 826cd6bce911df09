"""The setting says bfloat16, but what it switches on computes in float16, and is scaled."""

import torch


def build(model, use_bfloat16):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda") if use_bfloat16 else None
    return optimizer, scaler


def one_epoch(model, optimizer, scaler, batches, use_bfloat16):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=use_bfloat16):
            loss = model(batch)
        if use_bfloat16:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


def main(model, batches, config):
    use_bfloat16 = config["use_bfloat16"]
    optimizer, scaler = build(model, use_bfloat16)
    for _ in range(config["epochs"]):
        one_epoch(model, optimizer, scaler, batches, use_bfloat16)
