import torch


def train(model, loss_fn, optimizer, batches, log):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        log(torch.norm(torch.stack([p.grad.norm() for p in model.parameters()])))  # expect: AMP204
        scaler.step(optimizer)
        scaler.update()
