import torch
from torch import nn


def main():
    model = nn.ModuleDict({"body": nn.Linear(6, 8), "head": nn.Linear(8, 3)})
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model["head"].parameters(), lr=0.1)
    for epoch in range(6):
        if epoch == 3:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
            model.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model["head"](model["body"](x)), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            trained = [p for group in optimizer.param_groups for p in group["params"]]
            nn.utils.clip_grad_norm_(trained, 1.0)
            scaler.step(optimizer)
            scaler.update()


if __name__ == "__main__":
    main()
