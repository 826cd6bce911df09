import torch
from torch import nn


def main():
    peers = [nn.Linear(6, 3) for _ in range(2)]
    opts = [torch.optim.SGD(p.parameters(), lr=0.1) for p in peers]
    scalers = [torch.amp.GradScaler("cuda") for _ in peers]
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            outs = [peer(x) for peer in peers]
            losses = []
            for i in range(2):
                target = outs[1 - i].detach().float().softmax(-1)
                losses.append(nn.functional.cross_entropy(outs[i], y) + nn.functional.cross_entropy(outs[i], target))
        for i in range(2):
            opts[i].zero_grad()
            scalers[i].scale(losses[i]).backward()
            scalers[i].unscale_(opts[i])
            nn.utils.clip_grad_norm_(peers[i].parameters(), 1.0)
            scalers[i].step(opts[i])
            scalers[i].update()


if __name__ == "__main__":
    main()
