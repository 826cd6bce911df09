import torch
from torch import nn


def main():
    weight = torch.zeros(4, 1, requires_grad=True)
    meta = torch.optim.Adam([weight], lr=0.01)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(4):
        meta.zero_grad()
        outer = 0.0
        for _ in range(3):
            x, y = torch.randn(8, 4), torch.randn(8, 1)
            inner = nn.functional.mse_loss(x @ weight, y)
            (grad,) = torch.autograd.grad(inner, weight, create_graph=True)
            fast = weight - 0.1 * grad
            with torch.autocast("cuda", dtype=torch.float16):
                outer = outer + nn.functional.mse_loss(x @ fast, y)
        scaler.scale(outer / 3).backward()
        scaler.unscale_(meta)
        nn.utils.clip_grad_norm_([weight], 1.0)
        scaler.step(meta)
        scaler.update()


if __name__ == "__main__":
    main()
