"""Autocast regions, schedules, the lives of scalers, wrong arguments."""

import io

import torch


def backward_in_region(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = w.model(batch).float().pow(2).mean()
            w.scaler.scale(loss).backward()  # AMP101
        w.scaler.step(w.optimizer)
        w.scaler.update()


def step_in_region(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = w.model(batch).float().pow(2).mean()
        loss.backward()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            w.optimizer.step()  # AMP102


def loop_in_region(w):
    with torch.autocast("cpu", dtype=torch.bfloat16):  # AMP104
        for batch in w.batches:
            w.optimizer.zero_grad()
            loss = w.model(batch).float().pow(2).mean()
            loss.backward()  # AMP101
            w.optimizer.step()  # AMP102


def closures_in_region(w):
    def closure():
        w.optimizer.zero_grad()
        loss = w.model(w.batches[0]).float().pow(2).mean()
        loss.backward()  # AMP101
        return loss

    with torch.autocast("cpu", dtype=torch.bfloat16):  # AMP104
        for _ in w.batches:
            w.optimizer.step(closure)  # AMP102


def region_inside_the_closure(w):
    optimizer = torch.optim.LBFGS(w.model.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = w.loss(w.batches[0], torch.bfloat16)
        loss.backward()
        w.clip(w.model.parameters(), 1.0)
        return loss

    for _ in range(3):
        optimizer.step(closure=closure)


def island_in_region(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = w.model(batch)
            with torch.autocast("cpu", enabled=False):
                loss = hidden.float().pow(2).mean()
        loss.backward()
        w.optimizer.step()


def decorated_forward(w):
    forward = torch.autocast("cpu", dtype=torch.bfloat16)(w.model.forward)
    for batch in w.batches:
        w.optimizer.zero_grad()
        forward(batch).float().pow(2).mean().backward()
        w.optimizer.step()


def float16_without_scaler(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):  # AMP305
            loss = w.model(batch).float().pow(2).mean()
        loss.backward()
        w.optimizer.step()


float16_without_scaler.has_scaler = False


def float16_for_evaluation_only(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.model(batch).pow(2).mean().backward()
        w.optimizer.step()
    with torch.autocast("cpu", dtype=torch.float16), torch.no_grad():
        w.model(batch)


float16_for_evaluation_only.has_scaler = False


def scaler_off_region_on(w):
    scaler = torch.amp.GradScaler("cpu", enabled=False)  # AMP303
    for batch in w.batches:
        w.optimizer.zero_grad()
        scaler.scale(w.loss(batch)).backward()
        scaler.step(w.optimizer)
        scaler.update()


scaler_off_region_on.has_scaler = False


def scaler_without_region(w):
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)  # AMP303
    for batch in w.batches:
        w.optimizer.zero_grad()
        scaler.scale(w.model(batch).pow(2).mean()).backward()
        scaler.step(w.optimizer)
        scaler.update()


scaler_without_region.has_scaler = False


def scaler_for_bfloat16(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch, torch.bfloat16)).backward()  # AMP304
        w.scaler.step(w.optimizer)
        w.scaler.update()


def scaler_per_epoch(w):
    for epoch in range(2):
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)  # AMP301
        for batch in w.batches[:2]:
            w.optimizer.zero_grad()
            scaler.scale(w.loss(batch)).backward()
            scaler.step(w.optimizer)
            scaler.update()


def model_per_fold(w):
    for fold in range(2):
        optimizer = torch.optim.SGD(w.model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for batch in w.batches[:2]:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = model(batch).float().pow(2).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def scaler_for_no_device(w):
    scaler = torch.amp.GradScaler(8.0)  # AMP306
    w.optimizer.zero_grad()
    scaler.scale(w.loss(w.batches[0])).backward()
    scaler.step(w.optimizer)
    scaler.update()


def _train(w, schedule=None):
    for number, batch in enumerate(w.batches):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        if number in (2, 3):
            w.poison()
            w.scaler.scale(torch.zeros(1))
        w.scaler.step(w.optimizer)
        before = w.scaler.get_scale()
        w.scaler.update()
        if schedule:
            schedule(w.scaler.get_scale() < before)


def schedule_on_skips(w):
    scheduler = torch.optim.lr_scheduler.LinearLR(w.optimizer)
    _train(w, lambda skipped: scheduler.step())  # AMP213


def schedule_without_skips(w):
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(w.optimizer, 4)
    _train(w, lambda skipped: None if skipped else scheduler.step())


def schedule_before_a_skip(w):
    scheduler = torch.optim.lr_scheduler.LinearLR(w.optimizer)
    w.optimizer.zero_grad()
    w.scaler.scale(w.loss(w.batches[0])).backward()
    w.poison()
    w.scaler.scale(torch.zeros(1))
    scheduler.step()  # AMP213
    w.scaler.step(w.optimizer)
    w.scaler.update()


def schedule_of_a_step_that_is_a_stub(w):
    """Nothing scales here, so nothing skipped: that no step is seen is the stub's doing."""
    w.optimizer.step = lambda closure=None: None
    w.optimizer.step.__func__ = w.optimizer.step
    scheduler = torch.optim.lr_scheduler.LinearLR(w.optimizer)
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.model(batch).float().sum().backward()
        w.optimizer.step()
        scheduler.step()


def schedule_per_epoch(w):
    scheduler = torch.optim.lr_scheduler.StepLR(w.optimizer, 1)
    _train(w)
    scheduler.step()


def checkpoint_without_scaler(w):
    _train(w)
    torch.save({"model": w.model.state_dict(), "optimizer": w.optimizer.state_dict()}, io.BytesIO())  # AMP302


def checkpoint_with_scaler(w):
    _train(w)
    state = {"optimizer": w.optimizer.state_dict(), "scaler": w.scaler.state_dict()}
    torch.save({"model": w.model.state_dict(), **state}, io.BytesIO())


def batches_from_a_loader(w):
    state = w.scaler.state_dict()
    w.scaler.load_state_dict(state)
    for batch in torch.utils.data.DataLoader(torch.cat(w.batches), batch_size=8):
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def weights_only(w):
    _train(w)
    torch.save(w.model.state_dict(), io.BytesIO())


def closure(w):
    w.scaler.scale(w.loss(w.batches[0])).backward()
    w.scaler.step(w.optimizer, lambda: None)  # AMP215
    w.scaler.update()


def bound_method(w):
    w.scaler.scale(w.loss(w.batches[0])).backward()
    w.scaler.step(w.optimizer.step)  # AMP217


def exhausted_parameters(w):
    parameters = iter(w.model.parameters())
    for batch in w.batches:
        w.optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.unscale_(w.optimizer)
        w.clip(parameters, 1.0)  # AMP219
        w.scaler.step(w.optimizer)
        w.scaler.update()


def half_parameters(w):
    model = torch.nn.Linear(4, 1).half()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(w.batches[0]).float().pow(2).mean()
    w.scaler.scale(loss).backward()
    w.scaler.unscale_(optimizer)  # AMP401


class OwnScaler(torch.amp.GradScaler):
    def unscale_(self, optimizer):
        super().unscale_(optimizer)

    def step(self, optimizer, *args, **kwargs):
        return super().step(optimizer, *args, **kwargs)


def own_scaler(w):
    scaler = OwnScaler("cpu", init_scale=8.0)
    for batch in w.batches:
        w.optimizer.zero_grad()
        scaler.scale(w.loss(batch)).backward()
        scaler.unscale_(w.optimizer)
        w.clip(w.model.parameters(), 1.0)
        scaler.step(w.optimizer)
        scaler.update()


def own_scaler_clipped_too_early(w):
    scaler = OwnScaler("cpu", init_scale=8.0)
    w.scaler = scaler
    for batch in w.batches:
        w.optimizer.zero_grad()
        scaler.scale(w.loss(batch)).backward()
        w.clip(w.model.parameters(), 1.0)  # AMP201
        scaler.step(w.optimizer)
        scaler.update()


class CallableScaler:
    """The wrapper of timm and others."""

    def __init__(self):
        self._scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

    def __call__(self, loss, optimizer, clip, parameters, unscale=True):
        self._scaler.scale(loss).backward()
        if unscale:
            self._scaler.unscale_(optimizer)
        clip(parameters, 1.0)
        self._scaler.step(optimizer)
        self._scaler.update()


def callable_wrapper(w):
    scaler = CallableScaler()
    for batch in w.batches:
        w.optimizer.zero_grad()
        scaler(w.loss(batch), w.optimizer, w.clip, w.model.parameters())


def fused_optimizer(w):
    optimizer = torch.optim.AdamW(w.model.parameters(), fused=True)
    for batch in w.batches:
        optimizer.zero_grad()
        w.scaler.scale(w.loss(batch)).backward()
        w.scaler.step(optimizer)
        w.scaler.update()


def many_parameters(w):
    """More gradients than are looked at by default, of which a loss reaches the last only."""
    layers = torch.nn.ModuleList(torch.nn.Linear(1, 1) for _ in range(60))
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
    for batch in w.batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = layers[37](batch[:, :1]).float().mean()
        w.scaler.scale(loss).backward()
        w.clip(layers.parameters(), 1.0)  # AMP201
        w.scaler.step(optimizer)
        w.scaler.update()
