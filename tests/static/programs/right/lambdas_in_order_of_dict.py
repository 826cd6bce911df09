import torch
from torch import nn


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    verbs = {
        "clear": lambda loss: optimizer.zero_grad(),
        "backward": lambda loss: scaler.scale(loss).backward(),
        "clip": lambda loss: (scaler.unscale_(optimizer), nn.utils.clip_grad_norm_(model.parameters(), 1.0)),
        "step": lambda loss: scaler.step(optimizer),
        "update": lambda loss: scaler.update(),
    }
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        for name in ("clear", "backward", "clip", "step", "update"):
            verbs[name](loss)


if __name__ == "__main__":
    main()
