"""FSDP of torch 2.4 to 2.13: parameters are float32 between steps, and in a forward what the policy says."""

import torch
from torch.utils._pytree import tree_map

MODELS = ("torch.distributed.fsdp", "torch.distributed._composable.fsdp")


class MixedPrecision:
    def __init__(self, param_dtype=None, reduce_dtype=None, buffer_dtype=None, **options):
        self.param_dtype, self.reduce_dtype, self.buffer_dtype = param_dtype, reduce_dtype, buffer_dtype
        self.output_dtype = None


class MixedPrecisionPolicy:
    def __init__(self, param_dtype=None, reduce_dtype=None, output_dtype=None, cast_forward_inputs=True):
        self.param_dtype, self.reduce_dtype, self.output_dtype = param_dtype, reduce_dtype, output_dtype


class ShardedGradScaler(torch.amp.GradScaler):
    def __init__(self, device="cuda", init_scale=65536.0, enabled=True, **options):
        super().__init__(device, init_scale=init_scale, enabled=enabled)


class _Cast:
    """To a dtype, where a value is a floating-point tensor."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, value):
        return value.to(self.dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


class FullyShardedDataParallel(torch.nn.Module):
    def __init__(self, module, mixed_precision=None, device_id=None, **options):
        super().__init__()
        self.module = module
        self._policy = mixed_precision
        for each in module.modules():
            each._mp_policy = mixed_precision
        if device_id is not None:
            module.to(device_id)

    def forward(self, *args, **kwargs):
        dtype = None if self._policy is None else self._policy.param_dtype
        if dtype is None:
            return self.module(*args, **kwargs)
        kept = next(self.module.parameters()).dtype
        self.module.to(dtype)
        found = self.module(*tree_map(_Cast(dtype), args), **kwargs)
        self.module.to(kept)
        return found

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        return torch.nn.utils.clip_grad_norm_(self.module.parameters(), max_norm, norm_type)

    def __getattr__(self, name):
        return getattr(self.module, name)


class _Before:
    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, module, args):
        module.to(self.dtype)
        return tree_map(_Cast(self.dtype), args)


class _After:
    def __init__(self, kept, output):
        self.kept, self.output = kept, output

    def __call__(self, module, args, found):
        module.to(self.kept)
        return found if self.output is None else tree_map(_Cast(self.output), found)


def fully_shard(module, mesh=None, mp_policy=None, **options):
    for each in module.modules():
        each._mp_policy = mp_policy
    if mp_policy is not None and mp_policy.param_dtype is not None:
        for each in module.parameters():
            module.register_forward_pre_hook(_Before(mp_policy.param_dtype))
            module.register_forward_hook(_After(each.dtype, mp_policy.output_dtype))
            break
    return module
