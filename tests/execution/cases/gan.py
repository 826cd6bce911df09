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


def stepped_by_another_scaler(w):
    other = torch.amp.GradScaler("cpu", init_scale=256.0)
    other.scale(torch.zeros(1))
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        other.step(w.optimizer)  # AMP217
        other.update()


def unscaled_by_another_scaler(w):
    scalers = {"generator": w.scaler, "judge": torch.amp.GradScaler("cpu", init_scale=256.0)}
    scalers["judge"].scale(torch.zeros(1))
    for batch in w.batches:
        w.optimizer.zero_grad()
        scalers["generator"].scale(w.loss(batch)).backward()
        scalers["judge"].unscale_(w.optimizer)  # AMP217
        w.clip(w.model.parameters(), 1.0)
        scalers["judge"].step(w.optimizer)
        scalers["judge"].update()


def asked_of_a_scaler_that_never_scaled(w):
    other = torch.amp.GradScaler("cpu", init_scale=256.0)
    w.scaler.scale(w.loss(w.batches[0])).backward()
    other.step(w.optimizer)  # AMP217


def one_scaler_after_the_other(w):
    other = torch.amp.GradScaler("cpu", init_scale=256.0)
    for batch in w.batches:
        for scaler in (w.scaler, other):
            w.optimizer.zero_grad()
            scaler.scale(w.loss(batch)).backward()
            scaler.step(w.optimizer)
            scaler.update()


def two_optimizers_over_one_backward(w):
    second = torch.optim.SGD(w.model.parameters(), lr=0.001)
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.step(second)  # AMP202
        w.scaler.update()


def two_optimizers_unscaled_over_one_backward(w):
    second = torch.optim.SGD(w.model.parameters(), lr=0.001)
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        w.scaler.unscale_(second)  # AMP202
        w.scaler.step(w.optimizer)
        w.scaler.update()


def two_optimizers_with_a_backward_each(w):
    second = torch.optim.SGD(w.model.parameters(), lr=0.001)
    for batch in w.batches:
        for optimizer in (w.optimizer, second):
            optimizer.zero_grad()
            w.scaler.scale(w.loss(batch)).backward()
            w.scaler.unscale_(optimizer)
            w.clip(w.model.parameters(), 1.0)
            w.scaler.step(optimizer)
        w.scaler.update()


def head_and_all_over_one_backward(w):
    head = torch.optim.SGD(w.model[2].parameters(), lr=0.001)
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(head)
        w.clip(w.model[2].parameters(), 1.0)
        w.scaler.step(head)
        w.scaler.step(w.optimizer)  # AMP202
        w.scaler.update()


def head_first_then_all(w):
    head = torch.optim.SGD(w.model[2].parameters(), lr=0.001)
    for number, batch in enumerate(w.batches):
        optimizer = head if number < 3 else w.optimizer
        w.model.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(optimizer)
        w.scaler.update()


def head_and_all_with_a_backward_each(w):
    head = torch.optim.SGD(w.model[2].parameters(), lr=0.001)
    for batch in w.batches:
        head.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(head)
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def clip_of_all_when_the_head_is_unscaled(w):
    head = torch.optim.SGD(w.model[2].parameters(), lr=0.001)
    body = torch.optim.SGD(w.model[0].parameters(), lr=0.001)
    for batch in w.batches:
        w.model.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(head)
        w.clip(w.model.parameters(), 1.0)  # AMP201
        w.scaler.step(head)
        w.scaler.step(body)
        w.scaler.update()


def head_zeroed_by_its_own_optimizer(w):
    head = torch.optim.SGD(w.model[2].parameters(), lr=0.001)
    for batch in w.batches:
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(head)
        head.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()
        w.optimizer.zero_grad()
