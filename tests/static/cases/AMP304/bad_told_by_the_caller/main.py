import torch
from building import build


def main(model, batches, config):
    if config["dtype"] == "bfloat16":
        dtype, mixed = torch.bfloat16, True
    elif config["dtype"] == "float16":
        dtype, mixed = torch.float16, True
    else:
        dtype, mixed = torch.float32, False
    optimizer, scaler = build(model, lr=config["lr"], mixed_precision=mixed)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype, enabled=mixed):
            loss = model(batch)
        if mixed:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
