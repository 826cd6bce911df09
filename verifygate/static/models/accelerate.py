"""Accelerate, 0.20 to 1.15: what it prepares it moves, casts in autocast, scales, clips and steps."""

import contextlib
import os

import deepspeed
import torch
from torch.utils._pytree import tree_map
from verifygate.shared import Loader, Optimizer, backward, inside, nothing, same, step

MODELS = ("accelerate",)


class GradScalerKwargs:
    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        self.enabled = enabled


class AutocastKwargs:
    def __init__(self, enabled=True, cache_enabled=None):
        self.enabled = enabled


class GradientAccumulationPlugin:
    def __init__(self, num_steps=None, adjust_scheduler=True, sync_with_dataloader=True, sync_each_batch=False):
        self.num_steps = num_steps


class ProjectConfiguration:
    def __init__(self, project_dir=None, logging_dir=None, automatic_checkpoint_naming=False, total_limit=None):
        self.project_dir, self.logging_dir = project_dir, logging_dir


set_seed = nothing


def _floated(value):
    is_half = isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)
    return value.float() if is_half else value


class _Forward:
    """The forward of a prepared model: in autocast, and what comes out is float32."""

    def __init__(self, forward, device, dtype, enabled):
        self.original, self.device, self.dtype, self.enabled = forward, device, dtype, enabled

    def __call__(self, *args, **kwargs):
        with torch.autocast(self.device, dtype=self.dtype, enabled=self.enabled):
            found = self.original(*args, **kwargs)
        return tree_map(_floated, found)


class AcceleratedOptimizer(Optimizer):
    """Steps and zeroes in the last micro-batch of a window only, and through the scaler where there is one."""

    def __init__(self, optimizer, accelerator):
        super().__init__(optimizer)
        self.accelerator, self.scaler, self.step_was_skipped = accelerator, accelerator.scaler, False

    def step(self, closure=None):
        if self.accelerator.sync_gradients and not self.accelerator.has_engine:
            step(self.scaler, self.optimizer, closure)
            if self.scaler is not None:
                self.step_was_skipped = self.scaler.get_scale() < 1

    def zero_grad(self, set_to_none=True):
        if self.accelerator.sync_gradients:
            super().zero_grad(set_to_none)


class AcceleratedScheduler:
    def __init__(self, scheduler, accelerator):
        self.scheduler, self.accelerator = scheduler, accelerator

    def step(self, *args, **kwargs):
        if self.accelerator.sync_gradients:
            self.scheduler.step(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self.scheduler, name)


class Accelerator:
    print = log = wait_for_everyone = init_trackers = end_training = register_for_checkpointing = load_state = nothing
    gather = gather_for_metrics = reduce = pad_across_processes = on_main_process = same
    no_sync = main_process_first = local_main_process_first = inside

    def __init__(
        self, device_placement=True, split_batches=False, mixed_precision=None, gradient_accumulation_steps=1,
        cpu=False, gradient_accumulation_plugin=None, kwargs_handlers=None, **options
    ):  # fmt: skip
        self.has_engine = (
            "deepspeed_plugin" in options
            or "deepspeed_plugins" in options
            or "fsdp_plugin" in options
            or "megatron_lm_plugin" in options
            or os.environ.get("ACCELERATE_USE_DEEPSPEED", "false") == "true"
        )
        self.device_placement = device_placement
        self.device = torch.device("cuda" if torch.cuda.is_available() and not cpu else "cpu")
        if mixed_precision is None:
            mixed_precision = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
        self.mixed_precision = mixed_precision
        if gradient_accumulation_plugin is not None:
            gradient_accumulation_steps = gradient_accumulation_plugin.num_steps
        self.gradient_accumulation_steps, self.sync_gradients, self.step = gradient_accumulation_steps, True, 0
        self.is_main_process = self.is_local_main_process = self.is_last_process = True
        self.num_processes, self.process_index, self.local_process_index = 1, 0, 0
        self.project_configuration = ProjectConfiguration()
        self._models, self._optimizers, self._schedulers, self._autocast = [], [], [], True
        scales = True
        for handler in kwargs_handlers or []:
            if isinstance(handler, GradScalerKwargs):
                scales = handler.enabled
            elif isinstance(handler, AutocastKwargs):
                self._autocast = handler.enabled
        self.scaler = self.dtype = None
        if mixed_precision == "fp16" and self.device.type != "cpu":
            self.dtype = torch.float16
            self.scaler = torch.amp.GradScaler(self.device.type, enabled=scales)
        elif mixed_precision == "bf16":
            self.dtype = torch.bfloat16

    # -- preparing

    def prepare(self, *args, device_placement=None):
        found = tuple([self._prepared(each) for each in args])
        return found[0] if len(found) == 1 else found

    def _prepared(self, value):
        if isinstance(value, torch.nn.Module):
            return self.prepare_model(value)
        if isinstance(value, torch.optim.Optimizer):
            return self.prepare_optimizer(value)
        if isinstance(value, torch.utils.data.DataLoader):
            return self.prepare_data_loader(value)
        return self.prepare_scheduler(value) if isinstance(value, torch.optim.lr_scheduler.LRScheduler) else value

    def prepare_model(self, model, device_placement=None, evaluation_mode=False):
        if self.device_placement:
            model = model.to(self.device)
        if self.dtype is not None:
            model._original_forward = model.forward
            model.forward = _Forward(model.forward, self.device.type, self.dtype, self._autocast)
        self._models.append(model)
        if self.has_engine:
            deepspeed.initialize(model=model)  # or another engine that may keep weights of its own
        return model

    def prepare_optimizer(self, optimizer, device_placement=None):
        if isinstance(optimizer, AcceleratedOptimizer):
            return optimizer
        made = AcceleratedOptimizer(optimizer, self)
        self._optimizers.append(made)
        if self.has_engine:
            deepspeed.initialize(optimizer=optimizer)
        return made

    def prepare_data_loader(self, data_loader, device_placement=None, slice_fn_for_dispatch=None):
        return Loader(data_loader, self.device)

    def prepare_scheduler(self, scheduler):
        return AcceleratedScheduler(scheduler, self)

    def unwrap_model(self, model, keep_fp32_wrapper=True, keep_torch_compile=True):
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model = model.module
        if not keep_fp32_wrapper and self.dtype is not None:
            model.forward = model._original_forward
        return model

    # -- a step

    @contextlib.contextmanager
    def accumulate(self, *models):
        self.step = self.step + 1
        self.sync_gradients = self.step % self.gradient_accumulation_steps == 0
        yield

    @contextlib.contextmanager
    def autocast(self, autocast_handler=None):
        if self.dtype is None:
            yield
        else:
            with torch.autocast(self.device.type, dtype=self.dtype, enabled=self._autocast):
                yield

    def backward(self, loss, **options):
        backward(self.scaler, loss / self.gradient_accumulation_steps)

    def unscale_gradients(self, optimizer=None):
        if self.scaler is not None:
            for each in self._optimizers if optimizer is None else [optimizer]:
                self.scaler.unscale_(each.optimizer if isinstance(each, AcceleratedOptimizer) else each)

    def clip_grad_norm_(self, parameters, max_norm, norm_type=2):
        self.unscale_gradients()
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type=norm_type)

    def clip_grad_value_(self, parameters, clip_value):
        self.unscale_gradients()
        torch.nn.utils.clip_grad_value_(parameters, clip_value)

    @property
    def optimizer_step_was_skipped(self):
        return any([each.step_was_skipped for each in self._optimizers])

    # -- around it

    def free_memory(self, *objects):
        return objects

    def get_state_dict(self, model, unwrap=True):
        return model.state_dict()

    def save(self, obj, f, safe_serialization=False):
        torch.save(obj, f)

    def save_model(self, model, save_directory, max_shard_size="10GB", safe_serialization=True):
        torch.save(model.state_dict(), save_directory)

    def save_state(self, output_dir=None, **options):
        for each in self._models + self._optimizers:
            torch.save(each.state_dict(), output_dir)
