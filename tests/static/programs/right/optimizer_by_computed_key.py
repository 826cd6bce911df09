import torch
from torch import nn


def main():
    nets = nn.ModuleDict({str(i): nn.Linear(5, 1) for i in range(3)})
    opts = {k: torch.optim.SGD(nets[k].parameters(), lr=0.1) for k in nets}
    scaler = torch.amp.GradScaler("cuda")
    for step in range(9):
        x, y = torch.randn(8, 5), torch.randn(8, 1)
        opts[str(step % 3)].zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(nets[str(step % 3)](x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opts[str(step % 3)])
        nn.utils.clip_grad_norm_(nets[str(step % 3)].parameters(), 1.0)
        scaler.step(opts[str(step % 3)])
        scaler.update()


if __name__ == "__main__":
    main()
