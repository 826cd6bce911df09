from amp import GradScaler, autocast  # not torch.cuda.amp


def train(model, batch):
    with autocast():
        loss = model(batch)
    GradScaler().scale(loss).backward()
