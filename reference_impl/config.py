"""One frozen `Config`: defaults, then a TOML file, then `--key=value` arguments; later ones win."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_type_hints

from reference_impl.errors import ConfigError


@dataclass(frozen=True)
class Config:
    """Everything a run depends on. The keys of the TOML files and of the command line are these names."""

    # Where and in which arithmetic. `precision` is the one switch that turns AMP on and off.
    precision: str = "fp32"  # fp32 | bf16 | fp16, or auto: the best this device is known to do
    device: str = "auto"  # auto | cpu | cuda | mps; ROCm builds of torch call their device cuda
    allow_fallback: bool = False  # True: run in FP32, with a warning, where the machine lacks what was asked
    float32: str = "ieee"  # ieee | tf32: products of float32 numbers on CUDA; tf32 rounds them, and is faster
    threads: int = 0  # of the CPU, for one operator; 0: as many as torch takes by itself

    # Model
    layers: int = 2
    heads: int = 4
    width: int = 64  # channels of the residual stream; a multiple of heads
    dropout: float = 0.0

    # Data
    train_items: int = 12_000  # training sequences that the program generates
    eval_items: int = 2_000  # held-out sequences, never seen in training
    batch_size: int = 64  # sequences in one micro-batch, over all ranks together
    accumulation: int = 2  # micro-batches in one window, that is, for one optimizer step

    # Optimisation
    steps: int = 300  # optimizer steps that really happened; skipped ones do not count
    learning_rate: float = 3e-3  # the peak, reached after the warm-up
    warmup: int = 10  # steps of linear warm-up; a cosine to a tenth of the peak follows
    weight_decay: float = 1.0  # strong, because the training set is small
    grad_clip: float = 1.0  # largest global L2 norm of the (unscaled) gradients
    fused: bool = True  # AdamW's step as one kernel; false: as torch does it by itself on the device
    compile: bool = False  # torch.compile the model for training; on a CPU it needs a C++ compiler
    seed: int = 1337  # initial weights, dropout and the order of the data

    # Loss scaling, used by fp16 alone
    init_scale: float = 65536.0
    growth_interval: int = 2000  # clean steps after which the scale doubles
    min_scale: float = 1.0  # a scale below this means the gradients are broken, not large: stop

    # What the run leaves behind
    out_dir: str = "out"  # log.jsonl and checkpoint.pt
    log_every: int = 10  # windows between two log lines
    eval_every: int = 100  # steps between two evaluations; one always ends the run
    checkpoint_every: int = 100  # steps between two checkpoints; one always ends the run
    stop_at: int = 0  # leave after this many steps in all (a time slot ends, the schedule goes on); 0 = never
    resume: bool = False  # go on from out_dir/checkpoint.pt
    wandb: str = "off"  # off | online | offline: also log to Weights & Biases
    wandb_project: str = "reference_impl"

    def __post_init__(self) -> None:
        for key, allowed in _CHOICES.items():
            if getattr(self, key) not in allowed:
                raise ConfigError(f"{key} = {getattr(self, key)!r} is none of {', '.join(allowed)}")
        for key in _POSITIVE:
            if not getattr(self, key) > 0:
                raise ConfigError(f"{key} = {getattr(self, key)!r} must be greater than 0")
        if self.width % self.heads:
            raise ConfigError(f"width = {self.width} must be a multiple of heads = {self.heads}")
        if self.threads < 0:
            raise ConfigError(f"threads = {self.threads!r} must be 0 or greater")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout = {self.dropout} must lie in [0, 1)")
        if self.batch_size > self.train_items:
            raise ConfigError(f"batch_size = {self.batch_size} is more than train_items = {self.train_items}")


_CHOICES = {
    "precision": ("fp32", "bf16", "fp16", "auto"),
    "device": ("auto", "cpu", "cuda", "mps"),
    "float32": ("ieee", "tf32"),
    "wandb": ("off", "online", "offline"),
}
_POSITIVE = (
    "layers", "heads", "width", "train_items", "eval_items", "batch_size", "accumulation", "steps",
    "learning_rate", "grad_clip", "init_scale", "growth_interval", "min_scale",
    "log_every", "eval_every", "checkpoint_every",
)  # fmt: skip
_TYPES: dict[str, type] = get_type_hints(Config)


def read_config(arguments: Sequence[str]) -> Config:
    """Build the configuration from command-line arguments: `[FILE.toml] [--key=value]...`.

    Raises ConfigError for an unknown key (naming the nearest known one), a value of another type, or an
    argument that is neither a TOML file nor `--key=value`.
    """
    values: dict[str, object] = {}
    for argument in arguments:
        if argument.startswith("--"):
            key, equals, text = argument[2:].partition("=")
            if not equals:
                raise ConfigError(f"{argument}: write --{key}=VALUE")
            key = key.replace("-", "_")
            values[key] = _parse(key, text)
        else:
            values |= _read_toml(Path(argument))
    return make_config(values)


def make_config(values: Mapping[str, object]) -> Config:
    """Check keys and types of `values` and build a Config; an int is welcome where a float is expected."""
    checked: dict[str, object] = {}
    for key, value in values.items():
        expected = _type_of(key)
        if expected is float and type(value) is int:
            value = float(value)
        if type(value) is not expected:
            raise ConfigError(f"{key} = {value!r} must be of type {expected.__name__}")
        checked[key] = value
    return Config(**checked)  # type: ignore[arg-type]  # each value was checked against its field just above


def _read_toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error


def _parse(key: str, text: str) -> object:
    """Read command-line text as the type that the field `key` has."""
    expected = _type_of(key)
    if expected is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"{key} = {text!r} must be true or false")
        return text.lower() == "true"
    try:
        return expected(text)
    except ValueError:
        raise ConfigError(f"{key} = {text!r} must be of type {expected.__name__}") from None


def _type_of(key: str) -> type:
    if key in _TYPES:
        return _TYPES[key]
    near = difflib.get_close_matches(key, _TYPES, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known keys: {', '.join(f.name for f in fields(Config))}"
    raise ConfigError(f"unknown configuration key {key!r}{hint}")
