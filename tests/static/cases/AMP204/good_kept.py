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


def bound_anew(model, optimizer, scaler, loader, loss_fn, history, prepare):
    """What is kept is another loss by then; what is handed on before has its backward ahead of it."""
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        loss = scaler.scale(loss)
        prepare(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        loss = loss_fn(model(inputs), targets)
        history.append({"loss": loss.item()})


def divided_in_place(model, optimizer, scaler, loader, loss_fn, history):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        loss = scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        loss.data.div_(scaler.get_scale())
        scaler.update()
        history.append(loss.item())
