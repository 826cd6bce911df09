import torch
from chained import ChainedOptimizer


def run(model, loader):
    first, *others = model.parameters()
    optimizer = ChainedOptimizer([first, *others], [torch.optim.SGD([first], lr=0.1), torch.optim.AdamW(others)])
    scaler = torch.amp.GradScaler("cuda")
    for inputs in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
