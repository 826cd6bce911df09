import torch


def train(model, optimizer, batches, seen):
    scaler = torch.amp.GradScaler("cuda")
    held = torch.zeros(4)
    for parameter in model.parameters():
        parameter.register_hook(lambda grad: seen.append(torch.nan_to_num(held)))
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
