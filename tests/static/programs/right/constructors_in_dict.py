import torch
from torch import nn

OPTIMIZERS = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.1),
    "adam": lambda params: torch.optim.Adam(params, lr=0.01),
    "adamw": torch.optim.AdamW,
}


def main():
    for kind in sorted(OPTIMIZERS):
        model = nn.Linear(6, 3)
        optimizer = OPTIMIZERS[kind](model.parameters())
        scaler = torch.amp.GradScaler("cuda")
        for _ in range(4):
            x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()


if __name__ == "__main__":
    main()
