"""Two optimizers: what one loss leaves in the other's parameters accuses nobody, unless a step uses it."""

import torch


def _pair(w):
    torch.manual_seed(1)
    judge = torch.nn.Linear(1, 1)
    return judge, torch.optim.SGD(judge.parameters(), lr=0.01)


def _losses(w, judge, batch):
    with torch.autocast("cpu", dtype=torch.float16):
        made = w.model(batch)
        return judge(made.detach()).float().pow(2).mean(), lambda: _fooled(judge, made)


def _fooled(judge, made):
    with torch.autocast("cpu", dtype=torch.float16):
        return (judge(made).float() - 1).pow(2).mean()


def one_update_each(w):
    judge, second = _pair(w)
    for batch in w.batches:
        real, fooled = _losses(w, judge, batch)
        second.zero_grad()
        w.scaler.scale(real).backward()
        w.scaler.step(second)
        w.scaler.update()
        w.optimizer.zero_grad()
        w.scaler.scale(fooled()).backward()
        w.scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        w.scaler.step(w.optimizer)
        w.scaler.update()


def one_update_for_both(w):
    judge, second = _pair(w)
    for batch in w.batches:
        real, fooled = _losses(w, judge, batch)
        second.zero_grad()
        w.scaler.scale(real).backward()
        w.scaler.step(second)
        w.optimizer.zero_grad()
        w.scaler.scale(fooled()).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def update_between_steps_that_share_a_backward(w):
    judge, second = _pair(w)
    for batch in w.batches:
        second.zero_grad()
        w.optimizer.zero_grad()
        _, fooled = _losses(w, judge, batch)
        w.scaler.scale(fooled()).backward()
        w.scaler.step(second)
        w.scaler.update()  # AMP210
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_of_the_other_network(w):
    judge, second = _pair(w)
    for batch in w.batches:
        real, fooled = _losses(w, judge, batch)
        second.zero_grad()
        w.scaler.scale(real).backward()
        w.scaler.unscale_(w.optimizer)
        w.clip(judge.parameters(), 1.0)  # AMP201
        w.scaler.step(second)
        w.scaler.update()
        w.optimizer.zero_grad()


def two_scalers(w):
    judge, second = _pair(w)
    other = torch.amp.GradScaler("cpu", init_scale=256.0)
    for batch in w.batches:
        real, fooled = _losses(w, judge, batch)
        second.zero_grad()
        other.scale(real).backward()
        other.step(second)
        other.update()
        w.optimizer.zero_grad()
        w.scaler.scale(fooled()).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()
