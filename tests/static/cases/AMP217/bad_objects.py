"""Things that are no optimizer."""

import torch
from torch.amp import GradScaler


class Lookahead:
    def __init__(self, base):
        self.base = base
        self.param_groups = base.param_groups

    def step(self):
        self.base.step()


def a_method(model, optimizer, batches):
    scaler = GradScaler("cuda")
    for batch in batches:
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer.first_step)  # expect: AMP217
        scaler.update()


def a_result(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer.second_step(zero_grad=True))  # expect: AMP217
    scaler.update()


def a_model(batches):
    model = torch.nn.Linear(2, 2)
    scaler = GradScaler("cuda")
    for batch in batches:
        scaler.scale(model(batch).sum()).backward()
        scaler.step(model)  # expect: AMP217
        scaler.update()


def a_schedule(model, optimizer, loss):
    scaler = GradScaler("cuda")
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    scaler.scale(loss).backward()
    scaler.unscale_(schedule)  # expect: AMP217
    scaler.step(optimizer)
    scaler.update()


def a_wrapper(model, loss):
    scaler = GradScaler("cuda")
    inner = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = Lookahead(inner)
    scaler.scale(loss).backward()
    scaler.unscale_(inner)
    scaler.step(optimizer)  # expect: AMP217
    scaler.update()


def the_other_one(generator, critic, batches):
    scaler = GradScaler("cuda")
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for batch in batches:
        opt_g.zero_grad()
        scaler.scale(critic(generator(batch)).mean()).backward()
        scaler.unscale_(opt_c)  # expect: AMP217 likely
        torch.nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
        scaler.step(opt_g)
        scaler.update()
