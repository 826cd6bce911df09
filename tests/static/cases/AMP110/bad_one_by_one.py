import torch


def zipped(model, loss_fn, optimizer, scaler, batches):
    for views, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = [model(view) for view in views]
        total = 0
        for output, target in zip(outputs, targets):
            total = total + loss_fn(output, target)  # expect: AMP110 likely
        scaler.scale(total).backward()
        scaler.step(optimizer)
        scaler.update()


def numbered(model, loss_fn, optimizer, scaler, batches):
    for views, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            outputs = model(views)
        total = 0
        for number, output in enumerate(outputs):
            total = total + loss_fn(output, targets[number])  # expect: AMP110 likely
        scaler.scale(total).backward()
        scaler.step(optimizer)
        scaler.update()
