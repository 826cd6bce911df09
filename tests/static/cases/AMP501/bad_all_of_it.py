from torch.cuda.amp import *


def train(model, loss_fn, optimizer, batches):
    scaler = GradScaler()  # expect: AMP501
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with autocast():  # expect: AMP501
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
