import torch
from torch import nn


def run_phase(model, optimizer, scaler, batches):
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def main():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(4)]
    scaler = torch.amp.GradScaler("cuda")
    for p in model[0].parameters():
        p.requires_grad_(False)
    run_phase(model, torch.optim.SGD(model[2].parameters(), lr=0.1), scaler, batches)
    for p in model.parameters():
        p.requires_grad_(True)
    run_phase(model, torch.optim.SGD(model.parameters(), lr=0.01), scaler, batches)


if __name__ == "__main__":
    main()
