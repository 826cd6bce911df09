import torch
from torch import nn


def main():
    scaler = torch.amp.GradScaler("cuda")

    def trainer(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def backward(x, y):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.mse_loss(model(x), y)
            scaler.scale(loss).backward()

        def step():
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)

        return backward, step

    (back_a, step_a), (back_b, step_b) = trainer(nn.Linear(5, 1)), trainer(nn.Linear(5, 1))
    for _ in range(4):
        x, y = torch.randn(8, 5), torch.randn(8, 1)
        back_a(x, y)
        back_b(x, y)
        step_a()
        step_b()
        scaler.update()


if __name__ == "__main__":
    main()
