"""ignite 0.4 to 0.5: engines that run a function for each batch, and the supervised steps that it makes."""

import torch
from apex import amp
from torch.utils._pytree import tree_map

MODELS = ("ignite",)


class _Event:
    """When a handler is called. `every` and the like pick some of the times."""

    def __init__(self, *names):
        self.names = names

    def __call__(self, event_filter=None, every=None, once=None, before=None, after=None):
        return self

    def __or__(self, other):
        return _Event(*self.names, *other.names)


class Events:
    STARTED, COMPLETED = _Event("started"), _Event("completed")
    EPOCH_STARTED, EPOCH_COMPLETED = _Event("epoch_started"), _Event("epoch_completed")
    ITERATION_STARTED, ITERATION_COMPLETED = _Event("iteration_started"), _Event("iteration_completed")
    GET_BATCH_STARTED, GET_BATCH_COMPLETED = _Event("iteration_started"), _Event("iteration_started")
    EXCEPTION_RAISED, TERMINATE, INTERRUPT = _Event("exception"), _Event("terminate"), _Event("interrupt")


class State:
    def __init__(self):
        self.iteration, self.epoch, self.metrics, self.scaler = 0, 0, {}, None
        self.output, self.batch = None, None


class Engine:
    def __init__(self, process_function):
        self._process_function = process_function
        self.state = State()
        self._handlers = {}

    def add_event_handler(self, event_name, handler, *args, **kwargs):
        for name in event_name.names:
            self._handlers[name] = [*self._handlers.get(name, []), (handler, args, kwargs)]

    def on(self, event_name, *args, **kwargs):
        def registered(handler):
            self.add_event_handler(event_name, handler, *args, **kwargs)
            return handler

        return registered

    def _fire(self, name):
        for handler, args, kwargs in self._handlers.get(name, []):
            handler(self, *args, **kwargs)

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
    return x if device is None else tree_map(lambda each: each.to(device), x)


def _prepared(batch, device=None, non_blocking=False):
    x, y = batch
    return convert_tensor(x, device), convert_tensor(y, device)


class _Step:
    """One micro-batch; `amp_mode` is `amp`, `apex` or None."""

    def __init__(self, model, optimizer, loss_fn, device, every, options):
        self.model, self.optimizer, self.loss_fn, self.device, self.every = model, optimizer, loss_fn, device, every
        self.amp_mode, self.scaler = None, None
        self.prepare_batch = options.get("prepare_batch", _prepared)
        self.run = options.get("model_fn", lambda model, x: model(x))
        self.output = options.get("output_transform", lambda x, y, y_pred, loss: loss.item())

    def _loss(self, x, y):
        y_pred = self.run(self.model, x)
        loss = self.loss_fn(y_pred, y)
        return y_pred, loss / self.every if self.every > 1 else loss

    def __call__(self, engine, batch):
        if (engine.state.iteration - 1) % self.every == 0:
            self.optimizer.zero_grad()
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
        return self.output(x, y, y_pred, loss * self.every)


def supervised_training_step(model, optimizer, loss_fn, device=None, gradient_accumulation_steps=1, **options):
    return _Step(model, optimizer, loss_fn, device, gradient_accumulation_steps, options)


def supervised_training_step_amp(model, optimizer, loss_fn, device=None, scaler=None, **options):
    step = supervised_training_step(model, optimizer, loss_fn, device, **options)
    step.amp_mode, step.scaler = "amp", scaler
    return step


def create_supervised_trainer(model, optimizer, loss_fn, device=None, amp_mode=None, scaler=False, **options):
    step = supervised_training_step(model, optimizer, loss_fn, device, **options)
    step.amp_mode = amp_mode
    if amp_mode == "amp":
        step.scaler = torch.amp.GradScaler("cuda") if scaler is True else scaler or None
    engine = Engine(step)
    engine.state.scaler = step.scaler
    return engine


def create_supervised_evaluator(model, metrics=None, device=None, amp_mode=None, **options):
    def evaluate(engine, batch):
        with torch.no_grad(), torch.autocast("cuda", enabled=amp_mode == "amp"):
            x, y = options.get("prepare_batch", _prepared)(batch, device=device, non_blocking=False)
            y_pred = options.get("model_fn", lambda model, x: model(x))(model, x)
        return options.get("output_transform", lambda x, y, y_pred: (y_pred, y))(x, y, y_pred)

    return Engine(evaluate)
