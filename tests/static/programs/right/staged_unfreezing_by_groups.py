import torch
from torch import nn


def main():
    layers = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)])
    optimizer = torch.optim.SGD(layers[2].parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for layer in layers[:2]:
        layer.requires_grad_(False)
    for epoch in range(6):
        if epoch in (2, 4):
            layer = layers[1 if epoch == 2 else 0]
            layer.requires_grad_(True)
            optimizer.add_param_group({"params": layer.parameters(), "lr": 0.01})
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = x
            for layer in layers:
                out = layer(out)
            loss = nn.functional.cross_entropy(out, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(layers.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
