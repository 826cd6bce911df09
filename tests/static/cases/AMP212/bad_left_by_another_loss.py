"""A loss goes through another network, and leaves gradients there that its own optimizer steps on."""

import torch


def restorer_first(restorer, judge, loss_fn, pairs):
    restoring = torch.optim.Adam(restorer.parameters())
    judging = torch.optim.Adam(judge.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for damaged, clean in pairs:
        with torch.autocast("cuda", dtype=torch.float16):
            restored = restorer(damaged)
            first = loss_fn(judge(restored), True)
        scaler.scale(first).backward()
        scaler.step(restoring)
        restoring.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            second = loss_fn(judge(clean), True) + loss_fn(judge(restored.detach()), False)
        scaler.scale(second).backward()  # expect: AMP212 likely
        scaler.step(judging)
        judging.zero_grad()
        scaler.update()


class Two:
    def __init__(self, maker, critic):
        self.maker, self.critic = maker, critic
        self.of_maker = torch.optim.Adam(self.maker.parameters())
        self.of_critic = torch.optim.Adam(self.critic.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def made(self, noise):
        return self.maker(noise)

    def turn(self, noise, real):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = -self.critic(self.made(noise)).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.of_maker)
        self.of_maker.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.critic(self.made(noise).detach()).mean() - self.critic(real).mean()
        self.scaler.scale(loss).backward()  # expect: AMP212 likely
        self.scaler.step(self.of_critic)
        self.of_critic.zero_grad()
        self.scaler.update()

    def fit(self, batches):
        for noise, real in batches:
            self.turn(noise, real)
