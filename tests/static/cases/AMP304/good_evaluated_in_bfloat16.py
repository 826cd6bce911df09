import torch


def train(model, loss_fn, optimizer, batches, held_out):
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        return [loss_fn(model(inputs)) for inputs in held_out]
