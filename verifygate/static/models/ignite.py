"""ignite 0.4 to 0.5: engines that run a function for each batch, and the supervised steps that it makes."""

import torch
from apex import amp
from torch.utils._pytree import tree_map

MODELS = ("ignite",)


class _Event:
    """When a handler is called. `every` and the like pick some of the times."""

    def __init__(self, name):
        self.name = name

    def __call__(self, event_filter=None, every=None, once=None, before=None, after=None):
        return self

    def __or__(self, other):
        return _Several([self, other])


class _Several:
    def __init__(self, events):
        self.events = events

    def __or__(self, other):
        return _Several([*self.events, other])


class Events:
    STARTED, COMPLETED = _Event("started"), _Event("completed")
    EPOCH_STARTED, EPOCH_COMPLETED = _Event("epoch_started"), _Event("epoch_completed")
    GET_BATCH_STARTED, GET_BATCH_COMPLETED = _Event("get_batch_started"), _Event("get_batch_completed")
    ITERATION_STARTED, ITERATION_COMPLETED = _Event("iteration_started"), _Event("iteration_completed")
    EXCEPTION_RAISED, TERMINATE, INTERRUPT = _Event("exception_raised"), _Event("terminate"), _Event("interrupt")


class State:
    def __init__(self, scaler=None):
        self.iteration, self.epoch, self.epoch_length, self.max_epochs = 0, 0, None, None
        self.output, self.batch, self.metrics, self.dataloader = None, None, {}, None
        self.scaler = scaler


class Engine:
    def __init__(self, process_function):
        self._process_function = process_function
        self.state = State()
        self._handlers = {}

    def add_event_handler(self, event_name, handler, *args, **kwargs):
        for event in event_name.events if isinstance(event_name, _Several) else [event_name]:
            self._handlers[event.name] = [*self._handlers.get(event.name, []), (handler, args, kwargs)]

    def on(self, event_name, *args, **kwargs):
        def registered(handler):
            self.add_event_handler(event_name, handler, *args, **kwargs)
            return handler

        return registered

    def _fire(self, name):
        for handler, args, kwargs in self._handlers.get(name, []):
            handler(self, *args, **kwargs)

    def fire_event(self, event_name):
        self._fire(event_name.name)

    def terminate(self):
        pass

    def run(self, data=None, max_epochs=None, epoch_length=None):
        self._fire("started")
        for epoch in range(1 if max_epochs is None else max_epochs):
            self.state.epoch = epoch + 1
            self._fire("epoch_started")
            for batch in data:
                self.state.batch = batch
                self.state.iteration = self.state.iteration + 1
                self._fire("iteration_started")
                self.state.output = self._process_function(self, batch)
                self._fire("iteration_completed")
            self._fire("epoch_completed")
        self._fire("completed")
        return self.state


def convert_tensor(x, device=None, non_blocking=False):
    return (
        x if device is None else tree_map(lambda each: each.to(device) if isinstance(each, torch.Tensor) else each, x)
    )


def _prepared(batch, device=None, non_blocking=False):
    x, y = batch
    return convert_tensor(x, device), convert_tensor(y, device)


def _same(output):
    return output


def _run(model, x):
    return model(x)


def _item(x, y, y_pred, loss):
    return loss.item()


def _pair(x, y, y_pred):
    return y_pred, y


class _Step:
    """One micro-batch; `amp_mode` is `amp`, `apex` or None."""

    def __init__(
        self, model, optimizer, loss_fn, device, prepare_batch, model_transform, output_transform, every, model_fn
    ):
        self.model, self.optimizer, self.loss_fn, self.device, self.every = model, optimizer, loss_fn, device, every
        self.prepare_batch, self.model_transform, self.model_fn = prepare_batch, model_transform, model_fn
        self.output_transform = output_transform
        self.amp_mode, self.scaler = None, None

    def _loss(self, x, y):
        y_pred = self.model_transform(self.model_fn(self.model, x))
        loss = self.loss_fn(y_pred, y)
        return y_pred, loss / self.every if self.every > 1 else loss

    def __call__(self, engine, batch):
        if (engine.state.iteration - 1) % self.every == 0:
            self.optimizer.zero_grad()
        self.model.train()
        x, y = self.prepare_batch(batch, device=self.device, non_blocking=False)
        if self.amp_mode == "amp":
            with torch.autocast("cuda"):
                y_pred, loss = self._loss(x, y)
        else:
            y_pred, loss = self._loss(x, y)
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        elif self.amp_mode == "apex":
            with amp.scale_loss(loss, self.optimizer) as scaled_loss:
                scaled_loss.backward()
        else:
            loss.backward()
        if engine.state.iteration % self.every == 0:
            if self.scaler is not None:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()
        return self.output_transform(x, y, y_pred, loss * self.every)


def supervised_training_step(
    model,
    optimizer,
    loss_fn,
    device=None,
    non_blocking=False,
    prepare_batch=_prepared,
    model_transform=_same,
    output_transform=_item,
    gradient_accumulation_steps=1,
    model_fn=_run,
):
    every = gradient_accumulation_steps
    return _Step(model, optimizer, loss_fn, device, prepare_batch, model_transform, output_transform, every, model_fn)


def supervised_training_step_amp(model, optimizer, loss_fn, *args, scaler=None, **options):
    step = supervised_training_step(model, optimizer, loss_fn, *args, **options)
    step.amp_mode, step.scaler = "amp", scaler
    return step


def create_supervised_trainer(
    model,
    optimizer,
    loss_fn,
    device=None,
    non_blocking=False,
    prepare_batch=_prepared,
    model_transform=_same,
    output_transform=_item,
    deterministic=False,
    amp_mode=None,
    scaler=False,
    gradient_accumulation_steps=1,
    model_fn=_run,
):
    every = gradient_accumulation_steps
    step = _Step(model, optimizer, loss_fn, device, prepare_batch, model_transform, output_transform, every, model_fn)
    step.amp_mode = amp_mode
    if amp_mode == "amp":
        step.scaler = torch.amp.GradScaler("cuda") if scaler is True else scaler or None
    engine = Engine(step)
    engine.state.scaler = step.scaler
    return engine


def create_supervised_evaluator(
    model,
    metrics=None,
    device=None,
    non_blocking=False,
    prepare_batch=_prepared,
    model_transform=_same,
    output_transform=_pair,
    amp_mode=None,
    model_fn=_run,
):
    def evaluate(engine, batch):
        model.eval()
        with torch.no_grad(), torch.autocast("cuda", enabled=amp_mode == "amp"):
            x, y = prepare_batch(batch, device=device, non_blocking=non_blocking)
            y_pred = model_transform(model_fn(model, x))
        return output_transform(x, y, y_pred)

    return Engine(evaluate)
