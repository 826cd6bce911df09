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
