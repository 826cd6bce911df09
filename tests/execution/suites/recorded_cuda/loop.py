import torch
from torch.cuda.amp import GradScaler, autocast


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = GradScaler()
    for _ in range(steps):
        optimizer.zero_grad()
        with autocast():
            loss = model(torch.ones(2, 4).cuda()).float().mean()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
