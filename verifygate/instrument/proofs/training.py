"""Train a tiny model with the `train` of a rule's example, under the conditions of a job, and tell what was seen.

Runs inside the subject's interpreter. A job is what verifygate.proof's Setting says, with `source` and `name`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .observations import Instrument, Seen, joined, replaced

if TYPE_CHECKING:
    import torch

    Batches = list[tuple[torch.Tensor, torch.Tensor]]

BATCHES, ROWS, WIDTH = 8, 16, 8
LEARNING_RATE = 0.05
RAW_UNITS = 1e6


def run(job: dict[str, Any], rank: int = 0, instruments: Iterable[Instrument] = ()) -> dict[str, Any]:
    """Train once and tell everything that was seen; a rank of several has its share of the rows of each batch."""
    import torch

    torch.manual_seed(20260101)
    model, batches = _model_and_data(job, rank)
    begin = [weight.detach().clone() for weight in model.parameters()]
    seen = Seen(f"<{job['name']}>")
    given = {
        "model": model,
        "loss_fn": seen.recorded(mean_squared_error, job["loss_factor"]),
        "optimizer": torch.optim.SGD(model.parameters(), lr=LEARNING_RATE),
        "scaler": torch.amp.GradScaler("cpu", init_scale=job["scale"]),
        "batches": batches,
        "device": "cpu",
    }
    printed, returned, error = io.StringIO(), None, None
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(printed))
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        _set_up(job, stack, seen, model, instruments)
        try:
            train = load(job["source"], seen.filename)
            returned = train(**{name: given[name] for name in inspect.signature(train).parameters})
        except Exception as raised:
            error = {"type": type(raised).__name__, "message": " ".join(str(raised).split())}
    weights = joined(model.parameters())
    finite = bool(torch.isfinite(weights).all())
    return _observed(seen) | {
        "error": error,
        "finite": finite,
        "weights": weights.tolist() if finite else [],
        "unmoved": unmoved(begin, list(model.parameters())),
        "told": printed.getvalue() + ("" if returned is None else repr(returned)),
        "warnings": sorted({f"{each.category.__name__}: {' '.join(str(each.message).split())}" for each in warned}),
    }


def _model_and_data(job: dict[str, Any], rank: int) -> tuple[torch.nn.Module, Batches]:
    """The tiny model, and the rows of each batch that this rank has."""
    import torch

    model, batches = tiny_model(), training_data(job["one_batch"], job["target_factor"])
    if job["raw_inputs"]:
        model = torch.nn.Sequential(torch.nn.LayerNorm(WIDTH, elementwise_affine=False), model)
        batches = [(RAW_UNITS * inputs, targets) for inputs, targets in batches]
    return model, [(inputs[rank :: job["ranks"]], targets[rank :: job["ranks"]]) for inputs, targets in batches]


def _set_up(
    job: dict[str, Any],
    stack: contextlib.ExitStack,
    seen: Seen,
    model: torch.nn.Module,
    instruments: Iterable[Instrument],
) -> None:
    """The conditions of the job, and what watches the training under them."""
    seen.watch(stack, model)
    if job["bfloat16"]:
        stack.enter_context(bfloat16_for_float16())
    if job["cuda_ban"]:
        stack.enter_context(refused_as_on_cuda())
    if job["inf_at"] and job["ranks"] == 1:
        poison(model, job["inf_at"])
    for instrument in instruments:
        instrument(stack, seen, model)
    if job["counted"]:
        from . import counts

        counts.watch(stack, seen, model)
    if job["queued"]:
        from . import queue

        queue.watch(stack, seen, model)


def _observed(seen: Seen) -> dict[str, Any]:
    """What was seen while it ran, as JSON has it."""
    return {
        "dtypes": sorted(seen.dtypes),
        "losses": seen.losses,
        "scales": seen.scales,
        "updates": seen.updates,
        "graph": seen.graph,
        "norms": seen.norms,
        "reductions": seen.reductions,
        "operations": seen.operations,
        "reads": seen.reads,
        "loaded": seen.loaded,
        "waits": seen.waits,
    }


def unmoved(begin: list[torch.Tensor], end: list[torch.Tensor]) -> list[int]:
    """How many weights are as they were, but for the rounding to the dtype in which they end; and how many there are.

    Of a model that one flat tensor holds after, none is counted.
    """
    last = [getattr(each, "full_tensor", lambda here=each: here)() for each in end]
    pairs = [(one, other) for one, other in zip(begin, last, strict=False) if one.shape == other.shape]
    same = sum(int((other == one.to(other.dtype)).sum()) for one, other in pairs)
    return [same, sum(each.numel() for each in last)]


def tiny_model() -> torch.nn.Module:
    """A small net with an island in float32, as real models have for a softmax or a norm."""
    import torch

    class Tiny(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.into = torch.nn.Linear(WIDTH, WIDTH)
            self.island = torch.nn.Linear(WIDTH, WIDTH)
            self.out = torch.nn.Linear(WIDTH, WIDTH)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(self.into(inputs))
            with torch.autocast("cpu", enabled=False):
                hidden = torch.tanh(self.island(hidden.to(self.island.weight.dtype)))
            out: torch.Tensor = self.out(hidden)
            return out

    return Tiny()


def mean_squared_error(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Computed in the dtype of the outputs, as cross entropy is; inside an autocast region, in float32."""
    import torch

    return torch.nn.functional.mse_loss(outputs, targets.to(outputs.dtype))


def training_data(one_batch: bool, target_factor: float) -> Batches:
    """Batches whose gradients are far longer than 1, so that a clip to 1 has something to do."""
    import torch

    generator = torch.Generator().manual_seed(7)
    inputs = torch.randn(BATCHES, ROWS, WIDTH, generator=generator)
    targets = target_factor * (3 + 2 * torch.randn(BATCHES, ROWS, WIDTH, generator=generator))
    pairs = list(zip(inputs, targets, strict=True))
    return pairs[:1] * BATCHES if one_batch else pairs


def load(source: str, filename: str) -> Callable[..., object]:
    """The `train` of an example, from a module of its own."""
    module = types.ModuleType("verifygate_example")
    sys.modules[module.__name__] = module
    exec(compile(source, filename, "exec"), module.__dict__)  # noqa: S102 - the rule's own example
    train: Callable[..., object] = module.train
    return train


def poison(model: torch.nn.Module, number: int) -> None:
    """Write inf into one gradient of the backward with this number, as an overflow would."""
    parameter, count = next(iter(model.parameters())), 0

    def hook(weight: torch.Tensor) -> None:
        nonlocal count
        count += 1
        if count == number and weight.grad is not None:
            weight.grad.view(-1)[0] = float("inf")

    parameter.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def bfloat16_for_float16() -> Iterator[None]:
    """Autocast to bfloat16 where float16 is asked for: it has float32's range, so powers of two change no bit."""
    import torch

    begin = torch.amp.autocast_mode.autocast.__init__

    def init(self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        dtype = torch.bfloat16 if dtype is torch.float16 else dtype
        begin(self, device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    with replaced(torch.amp.autocast_mode.autocast, "__init__", init):
        yield


@contextlib.contextmanager
def refused_as_on_cuda() -> Iterator[None]:
    """Autocast on the CPU refuses binary cross entropy on probabilities, and scalers bfloat16, as they do on CUDA."""
    import torch

    unscale = torch._amp_foreach_non_finite_check_and_unscale_

    def unscale_as_on_cuda(gradients: Any, *rest: Any) -> None:
        if any(each.dtype is torch.bfloat16 for each in gradients):
            name = "_amp_foreach_non_finite_check_and_unscale_cuda"
            raise NotImplementedError(f"\"{name}\" not implemented for 'BFloat16' (emulated)")
        unscale(gradients, *rest)

    def refuse(*_arguments: object, **_keywords: object) -> None:
        raise RuntimeError("binary_cross_entropy and BCELoss are unsafe to autocast (as on CUDA, emulated)")

    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that the CPU has a rule of its own, which is the point
        library.impl("binary_cross_entropy", refuse, "AutocastCPU", allow_override=True)  # type: ignore[no-untyped-call]
    try:
        with replaced(torch, "_amp_foreach_non_finite_check_and_unscale_", unscale_as_on_cuda):
            yield
    finally:
        library._destroy()  # type: ignore[no-untyped-call]
