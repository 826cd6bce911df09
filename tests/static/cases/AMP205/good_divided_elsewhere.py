"""The derivative is divided by the scale: of another function, in a callee, in place, or by its own size."""

import torch


class Judge:
    def __init__(self, critic, optimizer):
        self.critic, self.optimizer = critic, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def inverse(self):
        return 1.0 / self.scaler.get_scale()

    def slope(self, mixed):
        return torch.autograd.grad(self.scaler.scale(self.critic(mixed).sum()), mixed, create_graph=True)[0]

    def penalty(self, mixed):
        inv_scale = self.inverse()
        slopes = [self.slope(mixed)]
        slopes = [each * inv_scale for each in slopes]
        return slopes[0].square().mean()

    def in_place(self, mixed):
        (slope,) = torch.autograd.grad(self.scaler.scale(self.critic(mixed).sum()), mixed, create_graph=True)
        slope = slope.div(self.scaler.get_scale())
        return slope.square().mean()

    def by_a_callee(self, mixed):
        (slope,) = torch.autograd.grad(self.scaler.scale(self.critic(mixed).sum()), mixed, create_graph=True)
        return without_scale(slope, self.scaler).square().mean()

    def direction(self, mixed):
        (slope,) = torch.autograd.grad(self.scaler.scale(self.critic(mixed).sum()), mixed, create_graph=True)
        return (slope / slope.norm()).mean()

    def step(self, real):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.critic(real).mean()
        loss = loss + self.penalty(real) + self.in_place(real) + self.by_a_callee(real) + self.direction(real)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def without_scale(value, scaler):
    return value / scaler.get_scale()
