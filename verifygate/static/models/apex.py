"""apex 0.1: what `amp.initialize` makes of models and optimizers at O0 to O3, and the loss that `scale_loss` gives.

O1 patches the functions of torch: a region of autocast in all that runs. From O2 on the models are float16, and at O2
the optimizers step float32 copies.
"""

import contextlib

import torch
from torch.utils._pytree import tree_map

MODELS = ("apex",)
_BATCH_NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, torch.nn.SyncBatchNorm)


class _State:
    enabled = True


_state = _State()


class _Cast:
    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, value):
        return value.to(self.dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


class _Forward:
    """Inputs in the dtype of the model, what comes out in float32."""

    def __init__(self, forward, dtype, output):
        self.original, self.dtype, self.output = forward, dtype, output

    def __call__(self, *args, **kwargs):
        found = self.original(*tree_map(_Cast(self.dtype), args), **tree_map(_Cast(self.dtype), kwargs))
        return tree_map(_Cast(self.output), found)


class _Halved:
    def __init__(self, dtype, keeps_batch_norms):
        self.dtype, self.keeps_batch_norms = dtype, keeps_batch_norms

    def __call__(self, module):
        for child in module.children():
            if not (self.keeps_batch_norms and isinstance(child, _BATCH_NORMS)):
                for each in child.parameters():
                    each.data = each.data.to(self.dtype)


def initialize(
    models,
    optimizers=None,
    enabled=True,
    opt_level="O1",
    cast_model_type=None,
    patch_torch_functions=None,
    keep_batchnorm_fp32=None,
    master_weights=None,
    loss_scale=None,
    cast_model_outputs=None,
    **options,
):
    _state.enabled = enabled
    if enabled:
        dtype = {"O0": torch.float32, "O1": None, "O2": torch.float16, "O3": torch.float16}.get(opt_level)
        dtype = dtype if cast_model_type is None else cast_model_type
        has_copies = opt_level == "O2" if master_weights is None else master_weights
        keeps = opt_level == "O2" if keep_batchnorm_fp32 is None else keep_batchnorm_fp32 in (True, "True")
        if opt_level == "O1":
            torch.autocast("cuda", dtype=torch.float16).__enter__()
        for model in models if isinstance(models, (list, tuple)) else [models]:
            if dtype is not None:
                model.apply(_Halved(dtype, keeps)) if keeps else model.to(dtype)
                output = torch.float32 if cast_model_outputs is None else cast_model_outputs
                model.forward = _Forward(model.forward, dtype, output)
        if optimizers is not None and has_copies:
            for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
                for group in optimizer.param_groups:
                    group["params"] = [torch.nn.Parameter(each.detach().float()) for each in group["params"]]
    return models if optimizers is None else (models, optimizers)


@contextlib.contextmanager
def scale_loss(loss, optimizers, loss_id=0, model=None, delay_unscale=False, delay_overflow_check=False):
    if _state.enabled:
        yield loss.float() * torch.tensor(65536.0)
    else:
        yield loss


def master_params(optimizer):
    return [each for group in optimizer.param_groups for each in group["params"]]


@contextlib.contextmanager
def disable_casts():
    with torch.autocast("cuda", enabled=False):
        yield


def state_dict(destination=None):
    return {}


def load_state_dict(state):
    pass


# -- optimizers and wrappers


class FusedAdam(torch.optim.Optimizer):
    """Its state is float32, whatever the parameters are."""

    state_dtype = torch.float32

    def __init__(self, params, lr=1e-3, **options):
        super().__init__(params, lr=lr)


class FusedLAMB(FusedAdam):
    pass


class FusedSGD(torch.optim.Optimizer):
    def __init__(self, params, lr=None, **options):
        super().__init__(params, lr=lr)


class DistributedDataParallel(torch.nn.Module):
    def __init__(self, module, message_size=10000000, delay_allreduce=False, allreduce_always_fp32=False, **options):
        super().__init__()
        self.module, self.always_float = module, allreduce_always_fp32
        for each in module.parameters():
            each.register_hook(self._reduce)

    def _reduce(self, gradient):
        torch.distributed.all_reduce(gradient.float() if self.always_float else gradient)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


def convert_syncbn_model(module, process_group=None, channel_last=False):
    return module
