import torch
from torch import nn


def project(a, b):
    dot = torch.dot(a, b)
    return a - (dot / b.dot(b)) * b if dot < 0 else a


def main():
    model = nn.Linear(6, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    params = list(model.parameters())
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randn(8, 2)
        with torch.autocast("cuda", dtype=torch.float16):
            out = model(x)
            tasks = [nn.functional.mse_loss(out[:, i], y[:, i]) for i in range(2)]
        flat = []
        for task in tasks:
            grads = torch.autograd.grad(scaler.scale(task), params, retain_graph=True)
            flat.append(torch.cat([g.flatten() for g in grads]))
        merged = project(flat[0], flat[1]) + project(flat[1], flat[0])
        at = 0
        for p in params:
            p.grad = merged[at : at + p.numel()].view_as(p).clone()
            at += p.numel()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
