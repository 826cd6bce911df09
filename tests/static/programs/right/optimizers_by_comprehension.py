import torch
from torch import nn


def main():
    towers = [nn.Linear(5, 1) for _ in range(3)]
    opts = [torch.optim.Adam(tower.parameters(), lr=0.01) for tower in towers]
    scalers = [torch.amp.GradScaler("cuda") for _ in towers]
    for _ in range(6):
        x, y = torch.randn(8, 5), torch.randn(8, 1)
        for tower, opt, scaler in zip(towers, opts, scalers):
            opt.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(tower(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(tower.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()


if __name__ == "__main__":
    main()
