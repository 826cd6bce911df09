import torch


def added_up(model, batches, optimizer, scaler):
    total = 0
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch).mean()
        loss = scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        total += loss.detach()  # expect: AMP204 likely
    return total / len(batches)


def put_in_a_list(model, batches, optimizer, scaler, writer):
    losses = []
    for number, batch in enumerate(batches):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = scaler.scale(model(batch).mean())
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach().cpu())  # expect: AMP204 likely
        writer.add_scalar("loss", loss.data, global_step=number)  # expect: AMP204 likely
        print(f"{number}: {loss:.3f}")  # expect: AMP204 likely
    return losses


def in_one_branch(model, optimizer, scaler, loader, loss_fn, use_amp, history, meter):
    """The other branch binds the same name; a scale that is only shown is no arithmetic."""
    for inputs, targets in loader:
        optimizer.zero_grad()
        if use_amp:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = loss_fn(model(inputs), targets)
            loss = scaler.scale(loss)
            loss.backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            optimizer.step()
        meter.update(scaler.get_scale())
        history.append(loss.item())  # expect: AMP204
        shown = {"loss": loss, "inputs": len(inputs)}  # expect: AMP204 likely
        history.append(shown)


def in_a_list(model, optimizer, scaler, loader, loss_fn, history):
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        loss = scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        history += [loss]  # expect: AMP204 likely
