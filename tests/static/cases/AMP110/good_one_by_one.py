import torch


def cast_first(model, loss_fn, optimizer, scaler, batches):
    for views, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = [model(view) for view in views]
        total = 0
        for output, target in zip([each.float() for each in outputs], targets):
            total = total + loss_fn(output, target)
        scaler.scale(total).backward()
        scaler.step(optimizer)
        scaler.update()


def of_something_else(model, loss_fn, optimizer, scaler, batches, pairs):
    for views, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            output = model(views)
            loss = loss_fn(output, targets)
        for output, target in pairs:
            loss = loss + loss_fn(output, target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
