"""Gradients unscaled a second time in one window."""

import torch
from torch.amp import GradScaler


def twice_in_a_row(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_value_(model.parameters(), 5.0)
        scaler.unscale_(optimizer)  # expect: AMP202
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def after_the_step(model, opt, amp_scaler, loss):
    amp_scaler.scale(loss).backward()
    amp_scaler.step(opt)
    amp_scaler.unscale_(opt)  # expect: AMP202
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    amp_scaler.update()


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = GradScaler("cuda")

    def clip(self):
        self.scaler.unscale_(self.optimizer)  # expect: AMP202
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

    def train_step(self, batch):
        opt = self.optimizer
        opt.zero_grad()
        self.scaler.scale(self.model(batch)).backward()
        self.scaler.unscale_(opt)
        self.clip()
        self.scaler.step(opt)
        self.scaler.update()


def where_a_setting_asks_for_both(model, optimizer, scaler, loss, args):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if args.clip:
        scaler.unscale_(optimizer)  # expect: AMP202
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


class TwoNetworks:
    """Each network has its scaler, and one line was copied from the other."""

    def __init__(self, generator, critic):
        self.generator, self.critic = generator, critic
        self.opt_g = torch.optim.Adam(generator.parameters())
        self.opt_c = torch.optim.Adam(critic.parameters())
        self.scale_g = GradScaler("cuda")
        self.scale_c = GradScaler("cuda")

    def step(self, noise, real):
        self.opt_c.zero_grad()
        self.scale_c.scale(self.critic(real).mean()).backward()
        self.scale_c.unscale_(self.opt_c)
        torch.nn.utils.clip_grad_norm_(self.critic.parameters(), 1.0)
        self.scale_c.step(self.opt_c)
        self.scale_c.update()

        self.opt_g.zero_grad()
        self.scale_g.scale(-self.critic(self.generator(noise)).mean()).backward()
        self.scale_c.unscale_(self.opt_g)  # expect: AMP202
        torch.nn.utils.clip_grad_norm_(self.generator.parameters(), 1.0)
        self.scale_g.step(self.opt_g)
        self.scale_g.update()
