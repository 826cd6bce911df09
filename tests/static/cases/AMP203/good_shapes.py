"""One unscale_ after the last backward of its window."""

import torch


def in_the_arm_that_steps(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def the_same_condition_twice(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        last = (i + 1) % window == 0 or i + 1 == len(batches)
        scaler.scale(model(batch) / window).backward()
        if last:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if last:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def a_question_asked_twice(model, optimizer, scaler, batches, schedule):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch)).backward()
        if schedule.is_due(i):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if schedule.is_due(i):
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


class LossScaler:
    """A callable wrapper: scale always, the rest only where the window ends."""

    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, update_grad=True):
        self._scaler.scale(loss).backward()
        if update_grad:
            if clip_grad is not None:
                self._scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
            else:
                self._scaler.unscale_(optimizer)
            self._scaler.step(optimizer)
            self._scaler.update()


def one_epoch(model, optimizer, batches, window):
    loss_scaler = LossScaler()
    optimizer.zero_grad()
    for i, batch in enumerate(batches):
        loss = model(batch) / window
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters(), update_grad=(i + 1) % window == 0)
        if (i + 1) % window == 0:
            optimizer.zero_grad()


def two_networks(net_d, net_g, optim_d, optim_g, scaler, batches):
    for batch in batches:
        optim_d.zero_grad()
        scaler.scale(net_d(batch)).backward()
        scaler.unscale_(optim_d)
        torch.nn.utils.clip_grad_norm_(net_d.parameters(), 1.0)
        scaler.step(optim_d)
        optim_g.zero_grad()
        scaler.scale(net_g(batch)).backward()
        scaler.unscale_(optim_g)
        torch.nn.utils.clip_grad_norm_(net_g.parameters(), 1.0)
        scaler.step(optim_g)
        scaler.update()
