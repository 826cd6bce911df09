import torch
from torch import nn


def fp32_step(model, opt, x, y):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()


def amp_step(model, opt, scaler, x, y):
    opt.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()


def main():
    model = nn.Linear(6, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(6):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        if epoch < 2:
            fp32_step(model, opt, x, y)
        else:
            amp_step(model, opt, scaler, x, y)


if __name__ == "__main__":
    main()
