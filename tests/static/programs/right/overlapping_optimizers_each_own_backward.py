import torch
from torch import nn


def main():
    body, head = nn.Linear(4, 8), nn.Linear(8, 1)
    everything = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
    only_head = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")

    def loss_of(x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            return nn.functional.mse_loss(head(body(x)), y)

    for _ in range(5):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        everything.zero_grad()
        scaler.scale(loss_of(x, y)).backward()
        scaler.unscale_(everything)
        nn.utils.clip_grad_norm_([*body.parameters(), *head.parameters()], 1.0)
        scaler.step(everything)
        scaler.update()
        everything.zero_grad()
        scaler.scale(loss_of(x, y)).backward()
        scaler.unscale_(only_head)
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        scaler.step(only_head)
        scaler.update()


if __name__ == "__main__":
    main()
