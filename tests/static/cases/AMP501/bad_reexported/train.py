from compat import GradScaler, autocast


def train(model, optimizer, batch):
    scaler = GradScaler()  # expect: AMP501
    with autocast():  # expect: AMP501
        loss = model(batch)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
