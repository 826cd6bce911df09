"""Training frameworks that drive autocast and the scaler themselves: what each is called, and what it does: data."""

from __future__ import annotations

from verifygate.base.records import record

LIBRARIES = frozenset(
    {
        "accelerate", "apex", "bitsandbytes", "deepspeed", "fairscale", "lightning", "lightning_fabric", "peft",
        "pytorch_lightning", "torch", "torchao", "transformer_engine", "transformers", "trl",
    }
)  # fmt: skip
"""Top-level modules of torch, of the frameworks, and of what they build on. Projects name their own files like them."""


@record(eq=False)
class Framework:
    """One of them."""

    name: str
    makers: frozenset[str]
    """What is given the precision when it is called."""
    keywords: tuple[str, ...]
    """By which it is given."""
    unsaid: str | None
    """The precision of a call that gives none; None where something outside of the code decides then."""
    wraps: frozenset[str] = frozenset()
    """Methods that hand back what they are given, in the same order, made part of the framework."""
    backward: str = "backward"
    """Its method that scales the loss and runs the backward."""
    clips: frozenset[str] = frozenset()
    """Its methods that unscale gradients and clip them."""
    unscales: frozenset[str] = frozenset()
    """Its methods that unscale and do no more."""
    steps_by: str = ""
    """How its documentation has a program step."""
    divides_by: str = ""
    """The keyword for the number of micro-batches that it divides the loss by."""
    hosts: frozenset[str] = frozenset()
    """Classes whose subclasses it runs."""
    callbacks: frozenset[str] = frozenset()
    """Classes whose subclasses have hooks that it calls."""
    packages: tuple[str, ...] = ()
    """Packages that it comes in, by which a project pins its version."""


def _in(modules: str, *names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for module in modules.split() for name in names)


_LIGHTNING_MODULES = "lightning lightning.pytorch pytorch_lightning"

ACCELERATE = Framework(
    name="Accelerate",
    makers=_in("accelerate accelerate.accelerator", "Accelerator"),
    keywords=("mixed_precision",),
    unsaid=None,
    wraps=frozenset({"prepare", "prepare_model", "prepare_optimizer", "prepare_scheduler", "prepare_data_loader"}),
    clips=frozenset({"clip_grad_norm_", "clip_grad_value_"}),
    unscales=frozenset({"unscale_gradients"}),
    steps_by="step what `accelerator.prepare(...)` returns for it",
    divides_by="gradient_accumulation_steps",
    packages=("accelerate",),
)
FABRIC = Framework(
    name="Fabric",
    makers=_in("lightning lightning.fabric lightning_fabric lightning.fabric.fabric", "Fabric"),
    keywords=("precision",),
    unsaid="32-true",
    wraps=frozenset({"setup", "setup_module", "setup_optimizers", "setup_dataloaders"}),
    clips=frozenset({"clip_gradients"}),
    steps_by="step what `fabric.setup(...)` returns for it",
    packages=("lightning", "lightning-fabric"),
)
LIGHTNING = Framework(
    name="Lightning",
    makers=_in(f"{_LIGHTNING_MODULES} lightning.pytorch.trainer pytorch_lightning.trainer", "Trainer"),
    keywords=("precision",),
    unsaid="32-true",
    backward="manual_backward",
    steps_by="step what `self.optimizers()` returns",
    divides_by="accumulate_grad_batches",
    hosts=_in(f"{_LIGHTNING_MODULES} lightning.pytorch.core pytorch_lightning.core", "LightningModule"),
    callbacks=_in(
        f"{_LIGHTNING_MODULES} lightning.pytorch.callbacks pytorch_lightning.callbacks"
        " lightning.pytorch.callbacks.callback pytorch_lightning.callbacks.callback",
        "Callback",
    ),
    packages=("lightning", "pytorch-lightning"),
)
TRANSFORMERS = Framework(
    name="transformers",
    makers=_in("transformers transformers.training_args", "TrainingArguments")
    | _in("transformers transformers.training_args_seq2seq", "Seq2SeqTrainingArguments"),
    keywords=("fp16", "bf16"),
    unsaid="32-true",
    clips=ACCELERATE.clips,
    unscales=ACCELERATE.unscales,
    divides_by="gradient_accumulation_steps",
    hosts=_in("transformers transformers.trainer", "Trainer")
    | _in("transformers transformers.trainer_seq2seq", "Seq2SeqTrainer"),
    callbacks=_in("transformers transformers.trainer_callback", "TrainerCallback"),
    packages=("transformers",),
)
DEEPSPEED = Framework(
    name="DeepSpeed",
    makers=frozenset({"deepspeed.initialize"}),
    keywords=("config", "config_params"),
    unsaid=None,
    steps_by="call `engine.step()`",
    divides_by="gradient_accumulation_steps",
    packages=("deepspeed",),
)
FRAMEWORKS = (ACCELERATE, FABRIC, LIGHTNING, TRANSFORMERS, DEEPSPEED)
OF_MAKER = {maker: framework for framework in FRAMEWORKS for maker in framework.makers}
WRAPPERS = {
    f"{maker}.{method}": framework
    for framework in FRAMEWORKS
    for maker in framework.makers
    for method in framework.wraps
}
"""Qualified name of a method that hands back what it is given, made part of the framework -> the framework."""
ENGINE, ENGINE_OPTIMIZER, ENGINE_LOADER, ENGINE_SCHEDULE = (
    f"deepspeed.{part}" for part in ("DeepSpeedEngine", "DeepSpeedOptimizer", "DeepSpeedDataLoader", "LRScheduler")
)
UNPACKED = {"deepspeed.initialize": (ENGINE, ENGINE_OPTIMIZER, ENGINE_LOADER, ENGINE_SCHEDULE)}
"""Function that returns a tuple -> what its elements are."""
LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
"""What a framework hands back so that a loop over it gets the same items."""
SCALER_OPTIONS = frozenset({"accelerate.GradScalerKwargs", "accelerate.utils.GradScalerKwargs"})
DATA_MODULES = _in(f"{_LIGHTNING_MODULES} lightning.pytorch.core pytorch_lightning.core", "LightningDataModule")
"""Classes whose subclasses give Lightning its loaders."""
PRECISION_PLUGINS = (
    _in("lightning.pytorch.plugins lightning.pytorch.plugins.precision", "MixedPrecision", "MixedPrecisionPlugin")
    | _in("pytorch_lightning.plugins pytorch_lightning.plugins.precision", "MixedPrecision", "MixedPrecisionPlugin")
    | _in("lightning.fabric.plugins lightning.fabric.plugins.precision lightning_fabric.plugins", "MixedPrecision")
)
"""What Lightning and Fabric are given instead of a precision; it has the precision."""
