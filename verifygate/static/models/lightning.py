"""Lightning's Trainer, 2.0 to 2.6: its loop calls the hooks of module and callbacks, and does the optimization."""

import deepspeed
import torch
from lightning.fabric import Fabric, MixedPrecision, Precision  # also by their short names: `lightning.Fabric`
from torch.utils._pytree import tree_map
from verifygate.shared import IN_PLACE, Cast, Moved, Optimizer, nothing, same, step

MODELS = ("lightning", "lightning.pytorch", "pytorch_lightning")


def seed_everything(seed=None, workers=False, verbose=True):
    return seed


class LightningDataModule:
    trainer = None
    prepare_data = setup = val_dataloader = teardown = save_hyperparameters = nothing


class _Hooks:
    """What the loop calls on the module, and with trainer and module before the arguments on callbacks."""

    setup = on_fit_start = on_train_start = on_train_epoch_start = on_train_batch_start = nothing
    on_before_zero_grad = on_before_backward = on_after_backward = on_before_optimizer_step = nothing
    on_train_batch_end = on_train_epoch_end = on_train_end = on_fit_end = on_validation_start = nothing
    on_validation_epoch_start = on_validation_batch_start = on_validation_batch_end = nothing
    on_validation_epoch_end = on_validation_end = nothing


class Callback(_Hooks):
    pass


class LightningOptimizer(Optimizer):
    def __init__(self, optimizer, trainer):
        super().__init__(optimizer)
        self._trainer = trainer

    def step(self, closure=None, **kwargs):
        self._trainer._step(self.optimizer, closure)


class LightningModule(torch.nn.Module, _Hooks):
    save_hyperparameters = configure_model = train_dataloader = val_dataloader = nothing
    print = toggle_optimizer = untoggle_optimizer = nothing
    all_gather = same

    def __init__(self):
        super().__init__()
        self.automatic_optimization = True
        self.trainer = None

    @property
    def device(self):
        return self.trainer.device

    @property
    def global_step(self):
        return self.trainer.global_step

    @property
    def current_epoch(self):
        return self.trainer.current_epoch

    def log(self, name, value, *args, **kwargs):
        self.trainer.callback_metrics[name] = value

    def log_dict(self, dictionary, *args, **kwargs):
        self.trainer.callback_metrics.update(dictionary)

    def optimizers(self, use_pl_optimizer=True):
        found = self.trainer._wrapped if use_pl_optimizer else self.trainer.optimizers
        return found[0] if len(found) == 1 else found

    def lr_schedulers(self):
        found = self.trainer.schedulers
        return found[0] if len(found) == 1 else found

    def manual_backward(self, loss, *args, **kwargs):
        self.trainer._backward(loss)

    def backward(self, loss, *args, **kwargs):
        loss.backward()

    def optimizer_zero_grad(self, epoch, batch_idx, optimizer):
        optimizer.zero_grad()

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure=None):
        optimizer.step(closure=optimizer_closure)

    def lr_scheduler_step(self, scheduler, metric=None):
        scheduler.step()

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def clip_gradients(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        if gradient_clip_val:
            parameters = [each for group in optimizer.param_groups for each in group["params"]]
            if gradient_clip_algorithm == "value":
                torch.nn.utils.clip_grad_value_(parameters, gradient_clip_val)
            else:
                torch.nn.utils.clip_grad_norm_(parameters, gradient_clip_val)


class Trainer:
    def __init__(
        self, accelerator="auto", precision=None, callbacks=None, max_epochs=None, accumulate_grad_batches=1,
        gradient_clip_val=None, gradient_clip_algorithm=None, plugins=None, strategy="auto", **options
    ):  # fmt: skip
        self.strategy = strategy
        self.device = torch.device("cuda" if torch.cuda.is_available() and accelerator != "cpu" else "cpu")
        self.precision_plugin = Precision(precision, self.device.type).with_plugins(plugins)
        self.callbacks = callbacks if isinstance(callbacks, list) else [callbacks] if callbacks is not None else []
        self.max_epochs = 1000 if max_epochs is None else max_epochs
        self.accumulate_grad_batches = accumulate_grad_batches
        self.gradient_clip_val, self.gradient_clip_algorithm = gradient_clip_val, gradient_clip_algorithm
        self.callback_metrics, self.optimizers, self.schedulers, self._wrapped = {}, [], [], []
        self.global_step, self.current_epoch, self.is_global_zero = 0, 0, True
        self.lightning_module = None

    @property
    def scaler(self):
        return self.precision_plugin.scaler

    def _hook(self, name, *args):
        for each in self.callbacks:
            getattr(each, name)(self, self.lightning_module, *args)
        return getattr(self.lightning_module, name)(*args)

    # -- the run

    def fit(self, model, train_dataloaders=None, val_dataloaders=None, datamodule=None, ckpt_path=None, **options):
        self.lightning_module = self.model = model
        model.trainer = self
        if self.strategy not in IN_PLACE:
            deepspeed.initialize(model=model)  # or another engine that may keep weights of its own
            return
        if isinstance(train_dataloaders, LightningDataModule):
            datamodule, train_dataloaders = train_dataloaders, None
        source = model if datamodule is None else datamodule
        if datamodule is not None:
            datamodule.trainer = self
            datamodule.prepare_data()
            datamodule.setup("fit")
        self._hook("setup", "fit")
        model.configure_model()
        self.precision_plugin.convert_module(model)
        model.to(self.device)
        self._take(model.configure_optimizers())
        batches = source.train_dataloader() if train_dataloaders is None else train_dataloaders
        validated = source.val_dataloader() if val_dataloaders is None else val_dataloaders
        self._hook("on_fit_start")
        if validated is not None:
            self._validate(validated)
        self._hook("on_train_start")
        for epoch in range(self.max_epochs):
            self.current_epoch = epoch
            model.train()
            self._hook("on_train_epoch_start")
            for index, batch in enumerate(batches):
                self._batch(self._moved(batch), index)
            if validated is not None:
                self._validate(validated)
            self._hook("on_train_epoch_end")
        self._hook("on_train_end")
        self._hook("on_fit_end")
        model.zero_grad()

    def _moved(self, batch):
        batch = tree_map(Moved(self.device), batch)
        dtype = self.precision_plugin.dtype
        return batch if dtype is None else tree_map(Cast(dtype), batch)

    def _take(self, given):
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], list):
            self.optimizers, schedulers = given
        elif isinstance(given, dict):
            self.optimizers, schedulers = [given["optimizer"]], [given.get("lr_scheduler")]
        else:
            self.optimizers, schedulers = (list(given) if isinstance(given, (list, tuple)) else [given]), []
        self.schedulers = [each["scheduler"] if isinstance(each, dict) else each for each in schedulers]
        if self.strategy not in IN_PLACE:  # asked again: one that is not known may be an engine as well
            for each in self.optimizers:
                deepspeed.initialize(optimizer=each)
        self._wrapped = [LightningOptimizer(each, self) for each in self.optimizers]

    def _batch(self, batch, index):
        self._hook("on_train_batch_start", batch, index)
        outputs = None
        if self.lightning_module.automatic_optimization:
            closure = _Closure(self, batch, index)
            if (index + 1) % self.accumulate_grad_batches == 0:
                self.lightning_module.optimizer_step(self.current_epoch, index, self._wrapped[0], closure)
                self.global_step += 1
            else:
                closure()
            for each in self.schedulers:
                self.lightning_module.lr_scheduler_step(each, None)
        else:
            with self.precision_plugin.forward_context():
                outputs = self.lightning_module.training_step(batch, index)
        self._hook("on_train_batch_end", outputs, batch, index)

    def _validate(self, batches):
        self.lightning_module.eval()
        with torch.no_grad():
            self._hook("on_validation_start")
            self._hook("on_validation_epoch_start")
            for index, batch in enumerate(batches):
                batch = self._moved(batch)
                self._hook("on_validation_batch_start", batch, index)
                with self.precision_plugin.forward_context():
                    outputs = self.lightning_module.validation_step(batch, index)
                self._hook("on_validation_batch_end", outputs, batch, index)
            self._hook("on_validation_epoch_end")
            self._hook("on_validation_end")
        self.lightning_module.train()

    def validate(self, model=None, dataloaders=None, **options):
        self.lightning_module = model
        model.trainer = self
        model.to(self.device)
        self._validate(dataloaders)

    # -- a step

    def _backward(self, loss):
        self._hook("on_before_backward", loss)
        if self.scaler is not None:
            loss = self.scaler.scale(loss)
        self.lightning_module.backward(loss)
        self._hook("on_after_backward")

    def _step(self, optimizer, closure=None):
        if closure is not None:
            closure()
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)
        self._before_step(optimizer)
        step(self.scaler, optimizer)

    def _before_step(self, optimizer):
        self._hook("on_before_optimizer_step", optimizer)
        if self.lightning_module.automatic_optimization:
            clip, algorithm = self.gradient_clip_val, self.gradient_clip_algorithm
            self.lightning_module.configure_gradient_clipping(optimizer, clip, algorithm)

    def save_checkpoint(self, filepath, weights_only=False):
        torch.save({"state_dict": self.lightning_module.state_dict()}, filepath)


class _Closure:
    """A micro-batch: forward and loss in autocast, zeroing at the begin of a window, backward."""

    def __init__(self, trainer, batch, index):
        self.trainer, self.batch, self.index = trainer, batch, index

    def __call__(self):
        trainer = self.trainer
        module = trainer.lightning_module
        with trainer.precision_plugin.forward_context():
            loss = module.training_step(self.batch, self.index)
        loss = loss["loss"] if isinstance(loss, dict) else loss
        loss = loss / trainer.accumulate_grad_batches
        if self.index % trainer.accumulate_grad_batches == 0:
            trainer._hook("on_before_zero_grad", trainer.optimizers[0])
            module.optimizer_zero_grad(trainer.current_epoch, self.index, trainer._wrapped[0])
        trainer._backward(loss)
        return loss
