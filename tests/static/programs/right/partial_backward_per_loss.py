import torch
from torch import nn


def main():
    trunk = nn.Linear(6, 8)
    heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 3)])
    optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.05)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        x, y, z = torch.randn(8, 6), torch.randn(8, 1), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            features = trunk(x)
            losses = {
                "regress": nn.functional.mse_loss(heads[0](features), y),
                "classify": nn.functional.cross_entropy(heads[1](features), z),
            }
        for i, name in enumerate(losses):
            scaler.scale(losses[name]).backward(retain_graph=i + 1 < len(losses))
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(trunk.parameters(), 1.0)
        nn.utils.clip_grad_norm_(heads.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
