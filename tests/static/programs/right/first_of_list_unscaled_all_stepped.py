import torch
from torch import nn


def main():
    encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
    optimizers = [torch.optim.SGD(encoder.parameters(), lr=0.1), torch.optim.Adam(decoder.parameters(), lr=0.01)]
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(6):
        x = torch.randn(8, 6)
        for optimizer in optimizers:
            optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.mse_loss(decoder(encoder(x)), x)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizers[0])
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    main()
