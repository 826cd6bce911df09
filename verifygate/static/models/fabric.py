"""Lightning Fabric, 2.0 to 2.6: backward, clips and steps of what it has set up, in the precision asked for."""

import contextlib

import deepspeed
import torch
from torch.utils._pytree import tree_map
from verifygate.shared import IN_PLACE, Cast, Loader, Moved, Optimizer, backward, inside, nothing, same, step

MODELS = ("lightning.fabric", "lightning_fabric")

_SHORT = {"16": "16-mixed", "bf16": "bf16-mixed", "32": "32-true", "64": "64-true", "None": "32-true"}
_AUTOCAST = {"16-mixed": torch.float16, "bf16-mixed": torch.bfloat16}
_TRUE = {"16-true": torch.float16, "bf16-true": torch.bfloat16, "64-true": torch.float64}


class MixedPrecision:
    """A plugin: the precision, and a scaler of the project's own."""

    def __init__(self, precision, device, scaler=None):
        self.precision, self.device, self.scaler = precision, device, scaler


class Precision:
    """What one of the words for a precision means on a device."""

    def __init__(self, precision, device):
        precision = _SHORT.get(str(precision), precision)
        if precision == "16-mixed" and device == "cpu":
            precision = "bf16-mixed"
        self.precision, self.device = precision, device
        self.autocast, self.dtype = _AUTOCAST.get(precision), _TRUE.get(precision)
        self.scaler = torch.amp.GradScaler(device) if precision == "16-mixed" else None

    def with_plugins(self, plugins):
        found = self
        for each in plugins or []:
            if isinstance(each, MixedPrecision):
                found = Precision(each.precision, self.device)
                found.scaler = each.scaler or found.scaler
        return found

    @contextlib.contextmanager
    def forward_context(self):
        if self.autocast is not None:
            with torch.autocast(self.device, dtype=self.autocast):
                yield
        elif self.dtype is not None:
            before = torch.get_default_dtype()
            torch.set_default_dtype(self.dtype)
            yield
            torch.set_default_dtype(before)
        else:
            yield

    def convert_module(self, module):
        return module if self.dtype is None else module.to(dtype=self.dtype)

    def convert_input(self, data):
        return tree_map(Cast(torch.float32 if self.dtype is None else self.dtype), data)

    def convert_output(self, data):
        return tree_map(Cast(torch.get_default_dtype()), data)

    def backward(self, tensor):
        backward(self.scaler, tensor)

    def unscale(self, optimizer):
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def step(self, optimizer, closure=None):
        step(self.scaler, optimizer, closure)


class FabricModule(torch.nn.Module):
    def __init__(self, module, precision):
        super().__init__()
        self.module, self._precision = module, precision

    def forward(self, *args, **kwargs):
        args = [self._precision.convert_input(each) for each in args]
        with self._precision.forward_context():
            found = self.module(*args, **kwargs)
        return self._precision.convert_output(found)

    def __getattr__(self, name):
        return getattr(self.module, name)


class FabricOptimizer(Optimizer):
    def __init__(self, optimizer, precision, strategy):
        super().__init__(optimizer)
        self._precision, self._strategy = precision, strategy

    def step(self, closure=None):
        if self._strategy in IN_PLACE:  # asked again: one that is not known may be an engine as well
            self._precision.step(self.optimizer, closure)


class Fabric:
    print = log = log_dict = call = barrier = run = nothing
    all_gather = all_reduce = same
    no_backward_sync = rank_zero_first = inside

    def __init__(self, accelerator="auto", strategy="auto", devices="auto", precision=None, plugins=None, **options):
        has_cuda = torch.cuda.is_available() and accelerator != "cpu"
        self.device = torch.device("cuda" if has_cuda else "cpu")
        self._precision = Precision(precision, self.device.type).with_plugins(plugins)
        self._strategy = strategy
        self.world_size, self.global_rank, self.local_rank, self.node_rank, self.is_global_zero = 1, 0, 0, 0, True

    def launch(self, function=None, *args, **kwargs):
        return function(self, *args, **kwargs) if function is not None else None

    @staticmethod
    def seed_everything(seed=None, workers=None, verbose=True):
        return seed

    def setup(self, module, *optimizers, scheduler=None, move_to_device=True, _reapply_compile=True):
        wrapped = self.setup_module(module, move_to_device)
        made = [self._optimizer(each) for each in optimizers]
        return (wrapped, *made) if made else wrapped

    def setup_module(self, module, move_to_device=True, _reapply_compile=True):
        module = self._precision.convert_module(module)
        if move_to_device:
            module = module.to(self.device)
        if self._strategy not in IN_PLACE:
            deepspeed.initialize(model=module)  # or another engine that may keep weights of its own
        return FabricModule(module, self._precision)

    def _optimizer(self, optimizer):
        if self._strategy not in IN_PLACE:
            deepspeed.initialize(optimizer=optimizer)
        return FabricOptimizer(optimizer, self._precision, self._strategy)

    def setup_optimizers(self, *optimizers):
        made = [self._optimizer(each) for each in optimizers]
        return made[0] if len(made) == 1 else tuple(made)

    def setup_dataloaders(self, *dataloaders, use_distributed_sampler=True, move_to_device=True):
        made = [Loader(each, self.device) for each in dataloaders]
        return made[0] if len(made) == 1 else made

    def backward(self, tensor, *args, model=None, **kwargs):
        self._precision.backward(tensor)

    def clip_gradients(self, module, optimizer, clip_val=None, max_norm=None, norm_type=2.0, error_if_nonfinite=True):
        self._precision.unscale(optimizer.optimizer if isinstance(optimizer, FabricOptimizer) else optimizer)
        if clip_val is not None:
            torch.nn.utils.clip_grad_value_(module.parameters(), clip_value=clip_val)
            return None
        return torch.nn.utils.clip_grad_norm_(module.parameters(), max_norm=max_norm, norm_type=norm_type)

    @contextlib.contextmanager
    def autocast(self):
        with self._precision.forward_context():
            yield

    @contextlib.contextmanager
    def init_module(self, empty_init=None):
        before = torch.get_default_dtype()
        torch.set_default_dtype(before if self._precision.dtype is None else self._precision.dtype)
        yield
        torch.set_default_dtype(before)

    def to_device(self, obj):
        return obj.to(self.device)

    def save(self, path, state, filter=None):
        for each in state.values():
            torch.save(each.state_dict() if hasattr(each, "state_dict") else each, path)

    def load(self, path, state=None, strict=True):
        return torch.load(path)
