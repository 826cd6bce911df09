import torch
from torch import nn


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(6):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        skip_optimizer_step = bool(loss.detach() > 1e4)
        if not skip_optimizer_step:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()


if __name__ == "__main__":
    main()
