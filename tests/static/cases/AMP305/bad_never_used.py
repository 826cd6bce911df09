"""A scaler that is built, saved and restored, and scales nothing."""

import torch


def train(model, optimizer, batches, path):
    dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    scaler = torch.amp.GradScaler("cuda")
    scaler.load_state_dict(torch.load(path)["scaler"])
    for batch in batches:
        with torch.autocast("cuda", dtype=dtype):  # expect: AMP305 likely
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.save({"model": model.state_dict(), "scaler": scaler.state_dict()}, path)


def laid_aside(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305
            loss = model(batch).mean()
        # scaler.scale(loss).backward()
        loss.backward()
        # scaler.step(optimizer)
        # scaler.update()
        optimizer.step()
