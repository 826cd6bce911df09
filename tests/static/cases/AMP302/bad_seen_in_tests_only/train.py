import torch


def load(path, model, optimizer, scaler):
    kept = torch.load(path)
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])  # expect: AMP302
    return kept["turn"]


def save(path, model, optimizer, scaler, turn):
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    torch.save({**states, "turn": turn}, path)


def main(model, optimizer, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    turn = load(path, model, optimizer, scaler)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    save(path, model, optimizer, scaler, turn + 1)
