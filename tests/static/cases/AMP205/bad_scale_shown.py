"""The scale is shown, or divides something else: the derivative keeps it."""

import torch


def slope_size(critic, mixed, scaler):
    scores = critic(mixed)
    (slope,) = torch.autograd.grad(scaler.scale(scores.sum()), mixed, create_graph=True)  # expect: AMP205
    print(f"scale {scaler.get_scale():.0f}")
    return (slope.norm(dim=1) - 1).square().mean()


class Judge:
    def __init__(self, critic, optimizer):
        self.critic, self.optimizer = critic, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def lipschitz(self, mixed):
        total = self.critic(mixed).sum()
        return torch.autograd.grad(self.scaler.scale(total), mixed, create_graph=True)[0]  # expect: AMP205

    def step(self, real, log):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.critic(real).mean()
        loss = self.scaler.scale(loss + self.lipschitz(real).square().mean() + slope_size(self.critic, real, self.scaler))
        loss.backward()
        log("loss", loss.item() / self.scaler.get_scale())
        self.scaler.step(self.optimizer)
        self.scaler.update()


def in_a_region(critic, real, scaler):
    with torch.autocast("cuda", dtype=torch.float16):
        scores = critic(real)
        (slope,) = torch.autograd.grad(scores.sum(), real, create_graph=True)  # expect: AMP205
        print(scaler.get_scale())
        return slope.square().sum()
