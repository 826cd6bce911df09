"""What the names of torch and its neighbours mean for AMP: data, no logic."""

from __future__ import annotations

GRAD_SCALERS = frozenset(
    {
        "torch.GradScaler",
        "torch.amp.GradScaler",
        "torch.amp.grad_scaler.GradScaler",
        "torch.cuda.amp.GradScaler",
        "torch.cuda.amp.grad_scaler.GradScaler",
        "torch.cpu.amp.GradScaler",
        "torch.cpu.amp.grad_scaler.GradScaler",
        "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
    }
)

STEPPING_SCALERS = frozenset({"timm.utils.NativeScaler", "timm.utils.cuda.NativeScaler"})
"""Objects of libraries that hold a scaler: `loss_scaler(loss, optimizer)` scales, steps and updates."""

AUTOCASTS = {
    "torch.autocast": None,
    "torch.amp.autocast": None,
    "torch.amp.autocast_mode.autocast": None,
    "torch.cuda.amp.autocast": "cuda",
    "torch.cuda.amp.autocast_mode.autocast": "cuda",
    "torch.cpu.amp.autocast": "cpu",
    "torch.cpu.amp.autocast_mode.autocast": "cpu",
}
"""Qualified name -> the device type it stands for, or None where the first argument says it."""

DTYPES = {
    "torch.half": "torch.float16",
    "torch.float": "torch.float32",
    "torch.double": "torch.float64",
    "torch.long": "torch.int64",
    "torch.int": "torch.int32",
} | {
    f"torch.{name}": f"torch.{name}" for name in ("float16", "bfloat16", "float32", "float64", "int64", "int32", "bool")
}
"""Every name of a dtype -> the name that it is printed by."""

PARALLEL = frozenset(
    {
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
    }
)
"""What runs the model that it is given first, and computes what that computes."""

ENABLED_POSITION = {None: 2, "cuda": 0, "cpu": 0}
"""Position of `enabled` in the call, by the same device type (torch.amp.autocast(device_type, dtype, enabled))."""

SCALER_ENABLED_POSITION = {"torch.cuda.amp.GradScaler": 4, "torch.cpu.amp.GradScaler": 4}
"""Position of `enabled` in the deprecated constructors; torch.amp.GradScaler has it at 5, after `device`."""

DEPRECATED = {
    "torch.cuda.amp.autocast": ("torch.amp.autocast", "cuda"),
    "torch.cuda.amp.autocast_mode.autocast": ("torch.amp.autocast", "cuda"),
    "torch.cuda.amp.GradScaler": ("torch.amp.GradScaler", "cuda"),
    "torch.cuda.amp.grad_scaler.GradScaler": ("torch.amp.GradScaler", "cuda"),
    "torch.cuda.amp.custom_fwd": ("torch.amp.custom_fwd", "cuda"),
    "torch.cuda.amp.custom_bwd": ("torch.amp.custom_bwd", "cuda"),
    "torch.cuda.amp.autocast_mode.custom_fwd": ("torch.amp.custom_fwd", "cuda"),
    "torch.cuda.amp.autocast_mode.custom_bwd": ("torch.amp.custom_bwd", "cuda"),
    "torch.cpu.amp.autocast": ("torch.amp.autocast", "cpu"),
    "torch.cpu.amp.autocast_mode.autocast": ("torch.amp.autocast", "cpu"),
    "torch.cpu.amp.GradScaler": ("torch.amp.GradScaler", "cpu"),
    "torch.cpu.amp.grad_scaler.GradScaler": ("torch.amp.GradScaler", "cpu"),
}
"""Deprecated since torch 2.4 -> what takes its place, and the device type to pass to it."""

DEPRECATED_STATE = {
    f"torch.{old}": (f"torch.{new}", device)
    for old, new, device in (
        ("get_autocast_gpu_dtype", "get_autocast_dtype", "cuda"),
        ("set_autocast_gpu_dtype", "set_autocast_dtype", "cuda"),
        ("get_autocast_cpu_dtype", "get_autocast_dtype", "cpu"),
        ("set_autocast_cpu_dtype", "set_autocast_dtype", "cpu"),
        ("is_autocast_cpu_enabled", "is_autocast_enabled", "cpu"),
        ("set_autocast_cpu_enabled", "set_autocast_enabled", "cpu"),
    )
}
"""Functions that get or set autocast's state, with the device in their name -> the same, as in `DEPRECATED`."""

SINCE = {
    "torch.amp.autocast": "1.12",
    "torch.amp.GradScaler": "2.3",
    "torch.amp.custom_fwd": "2.4",
    "torch.amp.custom_bwd": "2.4",
}
"""The replacements of `DEPRECATED`, and the first torch that has each."""

STATE_SINCE = "2.4"
"""The first torch whose functions for autocast's state, those of `DEPRECATED_STATE`, take the device."""

EXPORTS = {
    "torch.amp": ("GradScaler", "autocast", "custom_bwd", "custom_fwd"),
    "torch.cuda.amp": ("GradScaler", "autocast", "custom_bwd", "custom_fwd"),
    "torch.cpu.amp": ("GradScaler", "autocast"),
}
"""What `from torch.cuda.amp import *` binds."""

CLIP_FUNCTIONS = frozenset(
    {"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grad_value"}
    | {"adaptive_clip_grad", "dispatch_clip_grad"}  # timm's
)
CLIP_METHODS = frozenset({"clip_grad_norm_", "clip_grad_value_"})
"""Methods of a model that clip its own gradients (FSDP, DeepSpeed-like wrappers)."""

NONLINEAR_GRAD_METHODS = frozenset({"clamp_", "clip_", "clamp_min_", "clamp_max_", "nan_to_num_", "clamp"})
"""In-place methods on `.grad` whose result depends on the scale; multiplying and dividing do not."""

LIMITING_FUNCTIONS = frozenset({"clamp", "clip", "clamp_", "clip_", "nan_to_num", "nan_to_num_"})
"""Functions of torch that make of a gradient what depends on the scale, as the methods do."""

GRAD_READINGS = frozenset({"norm", "abs", "std", "var", "histc", "pow", "square", "vector_norm", "matrix_norm"})
"""Methods on `.grad`, and functions of it, that measure it: the scale goes into what they tell."""

GRAD_RECORDERS = frozenset(
    {"add_histogram", "Histogram", "histogram", "get_total_norm", "get_grad_norm", "_foreach_norm"}
)
"""Functions that record gradients, or measure those of the parameters they are given."""

SCALER_METHODS = frozenset({"scale", "unscale_", "step", "update", "get_scale", "state_dict", "load_state_dict"})

GRADIENT_HOOKS = frozenset({"register_post_accumulate_grad_hook"})
"""By which a parameter is given a hook that the backward runs as soon as the gradient is whole."""

EVENT_WORDS = CLIP_FUNCTIONS | GRADIENT_HOOKS | {"unscale_", "backward", "zero_grad"}
"""Calling one of these is an event, whatever it is called on."""

ENTERING_METHODS = frozenset({"__enter__", "__exit__", "enter_context"})
"""By which a context is entered and left without `with`."""

SHARPNESS_STEPS = frozenset({"first_step", "second_step"})
"""The steps of an optimizer of the kind of SAM, which zeroes the gradients where it is told `zero_grad=True`."""

COMMON_WORDS = frozenset({"step", "update", "scale"})
"""Calling one of these is an event where it is called on a scaler, an optimizer or a scheduler."""

NO_OP_CONTEXTS = frozenset({"contextlib.nullcontext", "contextlib.suppress", "contextlib.ExitStack"})

NO_GRAD_CONTEXTS = frozenset({"no_grad", "inference_mode"})
"""Contexts and decorators of torch that turn autograd off."""

FINITE_WORDS = ("isfinite", "isinf", "isnan", "found_inf", "overflow")
"""A condition that names one of these is a hand-written check for inf and NaN."""

DELEGATES = {
    "lightning.Trainer": "precision",
    "lightning.pytorch.Trainer": "precision",
    "pytorch_lightning.Trainer": "precision",
    "lightning.Fabric": "precision",
    "lightning.fabric.Fabric": "precision",
    "lightning_fabric.Fabric": "precision",
    "accelerate.Accelerator": "mixed_precision",
    "transformers.TrainingArguments": "fp16 bf16",
    "transformers.Seq2SeqTrainingArguments": "fp16 bf16",
}
"""Frameworks that do AMP themselves -> the keywords that switch it on."""
