from torch.amp import GradScaler


def train_epoch(model, optimizer, batches):
    scaler = GradScaler("cuda")  # expect: AMP301
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
