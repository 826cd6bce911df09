import torch


def save_states(path, **objects):
    state = {name: each.state_dict() if hasattr(each, "state_dict") else each for name, each in objects.items()}
    torch.save(state, path)


def save_in_turn(path, **objects):
    state = {}
    for name, each in objects.items():
        state[name] = each.state_dict()
    torch.save(state, path)


def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(9):
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(batch).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        save_states("last.pt", model=model, optimizer=optimizer, epoch=epoch)  # expect: AMP302 likely
        save_in_turn("last.pt", model=model, optimizer=optimizer)  # expect: AMP302 likely
