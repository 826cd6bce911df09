"""DeepSpeed 0.14 to 0.19: an engine casts the parameters, and its optimizer steps float32 copies of them.

A configuration that the program does not hold, in a file or among arguments, may ask for anything: then the engine is
not known, and what it is given may be changed.
"""

import contextlib

import deepspeed
import torch

MODELS = ("deepspeed",)
_NAMES = {"fp32": torch.float32, "fp16": torch.float16, "bfp16": torch.bfloat16, "bf16": torch.bfloat16}
_OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}


def init_distributed(*args, **kwargs):
    pass


def _is_on(config, name):
    return config.get(name, {}).get("enabled", False)


class _Optimizer(torch.optim.Optimizer):
    """Steps the copies by the optimizer given; there are none where the model is float32 and nothing is sharded."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def step(self, closure=None):
        self.optimizer.step()

    def zero_grad(self, set_to_none=True):
        pass

    def state_dict(self):
        return self.optimizer.state_dict()


class DeepSpeedEngine(torch.nn.Module):
    def __init__(self, model, optimizer, parameters, config):
        super().__init__()
        self.module, self.config = model, config
        self.dtype = torch.float32
        if _is_on(config, "fp16"):
            self.dtype = torch.float16
        elif _is_on(config, "bf16") or _is_on(config, "bfloat16"):
            self.dtype = torch.bfloat16
        self._stage = config.get("zero_optimization", {}).get("stage", 0)
        self._every = config.get("gradient_accumulation_steps", 1)
        self._clipped = config.get("gradient_clipping", 0.0)
        self._communicated = _NAMES.get(config.get("communication_data_type", None), self.dtype)
        self._step, self._is_boundary = 0, None
        for each in model.parameters():
            each.data = each.data.to(self.dtype)
        self.optimizer = self.client_optimizer = optimizer
        if optimizer is None and "optimizer" in config:
            given = config["optimizer"]
            of = _OPTIMIZERS[given["type"].lower()]
            rate = given.get("params", {}).get("lr", 1e-3)
            self.optimizer = of(model.parameters() if parameters is None else parameters, lr=rate)
        if self.optimizer is not None and (self.dtype != torch.float32 or self._stage > 0):
            self._copy(model)

    def _copy(self, model):
        for group in self.optimizer.param_groups:
            group["params"] = [torch.nn.Parameter(each.detach().float()) for each in group["params"]]
        self.optimizer = _Optimizer(self.optimizer)
        if self.dtype == torch.bfloat16 and self._stage == 0:
            self.optimizer.step()  # its state is made so

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self.module, name)

    # -- a step

    def is_gradient_accumulation_boundary(self):
        return (self._step + 1) % self._every == 0 if self._is_boundary is None else self._is_boundary

    def set_gradient_accumulation_boundary(self, is_boundary):
        self._is_boundary = is_boundary

    def backward(self, loss, retain_graph=False, scale_wrt_gas=True, **options):
        loss = loss / self._every
        if self.dtype == torch.float16:
            loss = loss.float() * torch.tensor(65536.0)
        loss.backward(retain_graph=retain_graph)
        if self._stage > 1 or self.is_gradient_accumulation_boundary():
            for each in self.module.parameters():
                torch.distributed.all_reduce(each.grad.to(self._communicated))
        return loss

    def step(self, lr_kwargs=None):
        if self.is_gradient_accumulation_boundary():
            self.optimizer.step()
        self._step = self._step + 1

    def zero_grad(self):
        pass

    @contextlib.contextmanager
    def no_sync(self):
        yield

    # -- around it

    def get_global_grad_norm(self):
        return torch.zeros(1)

    def save_checkpoint(self, save_dir, tag=None, client_state=None, **options):
        masters = [] if self.optimizer is None else [group["params"] for group in self.optimizer.param_groups]
        torch.save({"module": self.module.state_dict(), "optimizer": masters}, save_dir)

    def save_16bit_model(self, save_dir, save_filename="pytorch_model.bin", **options):
        torch.save(self.module.state_dict(), save_dir)

    def load_checkpoint(self, load_dir, tag=None, **options):
        return load_dir, {}


def initialize(
    args=None,
    model=None,
    optimizer=None,
    model_parameters=None,
    training_data=None,
    lr_scheduler=None,
    config=None,
    config_params=None,
    **options,
):
    config = config_params if config is None else config
    if not isinstance(config, dict):
        engine = deepspeed.DeepSpeedConfig(model, optimizer, model_parameters)
        return engine, engine, training_data, lr_scheduler
    engine = DeepSpeedEngine(model, optimizer, model_parameters, config)
    return engine, engine.optimizer, training_data, lr_scheduler
