import torch


def asked_only(model, batches, optimizer, scaler):
    total = 0
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        scaled = scaler.scale(loss)
        scaled.backward()
        if not torch.isfinite(scaled):
            print("inf", scaled.shape)
        scaler.step(optimizer)
        scaler.update()
        total += loss.detach()
    return total / len(batches)


def handed_on_before(model, batches, optimizer, scaler, hooks):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        loss = scaler.scale(loss)
        hooks.backward(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        loss = loss / 2.0**16
        print(loss)
