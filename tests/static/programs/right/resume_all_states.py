import torch
from torch import nn


import io


def save(model, optimizer, scaler):
    buffer = io.BytesIO()
    parts = {"model": model, "optimizer": optimizer, "scaler": scaler}
    torch.save({key: part.state_dict() for key, part in parts.items()}, buffer)
    buffer.seek(0)
    return buffer


def load(buffer, **parts):
    states = torch.load(buffer)
    for key, part in parts.items():
        part.load_state_dict(states[key])


def train(model, optimizer, scaler):
    for _ in range(3):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def build():
    model = nn.Linear(6, 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), torch.amp.GradScaler("cuda")


def main():
    model, optimizer, scaler = build()
    train(model, optimizer, scaler)
    kept = save(model, optimizer, scaler)
    model, optimizer, scaler = build()
    load(kept, model=model, optimizer=optimizer, scaler=scaler)
    train(model, optimizer, scaler)


if __name__ == "__main__":
    main()
