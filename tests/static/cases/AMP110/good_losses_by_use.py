import torch
import torch.nn.functional as F


def overlap(outputs, targets):
    outputs = outputs.float().sigmoid()
    return 1 - 2 * (outputs * targets).sum() / (outputs.sum() + targets.sum())


def distance(outputs, targets):
    return F.mse_loss(outputs.softmax(1), targets)


def weighted(parts, step):
    return sum(parts) * min(1.0, step / 100)


def sharpness(outputs, targets):
    return (outputs - targets).abs().max()


def casts(model, optimizer, scaler, batches):
    for images, masks in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(images)
        objective = overlap(outputs, masks)
        scaler.scale(objective).backward()
        scaler.step(optimizer)
        scaler.update()


def promotes(model, optimizer, scaler, batches):
    for images, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(images)
        objective = distance(outputs, targets)
        scaler.scale(objective).backward()
        scaler.step(optimizer)
        scaler.update()


def the_model_makes_losses(model, optimizer, scaler, batches):
    for step, images in enumerate(batches):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            parts = model(images)
        objective = weighted(parts, step)
        scaler.scale(objective).backward()
        scaler.step(optimizer)
        scaler.update()


def only_looked_at(model, loss_fn, optimizer, scaler, batches):
    for images, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = model(images)
            loss = loss_fn(outputs, targets)
        print(sharpness(outputs, targets))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
