import torch


def stepped(model, batches, optimizer, window):
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer)
    scaler = torch.amp.GradScaler("cuda")
    waits = False
    for number, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        waits = (number + 1) % window != 0
        if not waits:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            waits = True
        if waits:
            scheduler.step()  # expect: AMP213 likely
