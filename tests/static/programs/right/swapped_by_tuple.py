import torch
from torch import nn


def main():
    net, other = nn.Linear(5, 1), nn.Linear(5, 1)
    opt, spare = torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.SGD(other.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(6):
        x, y = torch.randn(8, 5), torch.randn(8, 1)
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        net, other = other, net
        opt, spare = spare, opt


if __name__ == "__main__":
    main()
