"""Runs inside the subject's interpreter: train a tiny model with the `train` of a rule's example, and measure it.

Usage: python start.py proof_harness JOBS.json RESULTS.json. A job is what verifygate.proof's Setting says, with
`source` and `name`; its result is what `run` returns. Imports torch and the standard library only, once for all jobs.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    Batches = list[tuple[torch.Tensor, torch.Tensor]]

BATCHES, ROWS, WIDTH = 8, 16, 8
LEARNING_RATE = 0.05
RAW_UNITS = 1e6


def main(arguments: Sequence[str]) -> int:
    """Run every job; without torch, or without gloo where a job wants ranks, the results are one line that says so."""
    jobs_path, results_path = arguments
    try:
        import torch
        import torch._dynamo  # the first optimizer would load it, inside a measured run
    except ImportError as error:
        results: dict[str, Any] = {"missing": str(error)}
    else:
        torch.set_num_threads(1)
        jobs = json.loads(Path(jobs_path).read_text(encoding="utf-8"))
        results = all_of(jobs)
    Path(results_path).write_text(json.dumps(results), encoding="utf-8")
    return 0


def all_of(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The results of the jobs, in their order; those that want ranks run together, in processes of their own."""
    from . import proof_ranks

    shared = [job for job in jobs if job["ranks"] > 1]
    if shared and (lacking := proof_ranks.lacking()):
        return {"no_ranks": lacking}
    together = iter(proof_ranks.start(shared) if shared else ())
    return {"runs": [next(together) if job["ranks"] > 1 else run(job) for job in jobs]}


def run(job: dict[str, Any], rank: int = 0, instruments: Iterable[Instrument] = ()) -> dict[str, Any]:
    """Train once and tell everything that was seen; a rank of several has its share of the rows of each batch."""
    import torch

    torch.manual_seed(20260101)
    model, batches = tiny_model(), training_data(job["one_batch"], job["target_factor"])
    if job["raw_inputs"]:
        model = torch.nn.Sequential(torch.nn.LayerNorm(WIDTH, elementwise_affine=False), model)
        batches = [(RAW_UNITS * inputs, targets) for inputs, targets in batches]
    batches = [(inputs[rank :: job["ranks"]], targets[rank :: job["ranks"]]) for inputs, targets in batches]
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    scaler = torch.amp.GradScaler("cpu", init_scale=job["scale"])
    seen = Seen(f"<{job['name']}>")
    printed, returned, error = io.StringIO(), None, None
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(printed))
        told = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
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
            from . import proof_counts

            proof_counts.watch(stack, seen, model)
        if job["queued"]:
            from . import proof_queue

            proof_queue.watch(stack, seen, model)
        given = {
            "model": model,
            "loss_fn": seen.recorded(mean_squared_error, job["loss_factor"]),
            "optimizer": optimizer,
            "scaler": scaler,
            "batches": batches,
            "device": "cpu",
        }
        try:
            train = load(job["source"], seen.filename)
            returned = train(**{name: given[name] for name in inspect.signature(train).parameters})
        except Exception as raised:
            error = {"type": type(raised).__name__, "message": " ".join(str(raised).split())}
    weights = _joined(model.parameters())
    finite = bool(torch.isfinite(weights).all())
    return {
        "error": error,
        "finite": finite,
        "weights": weights.tolist() if finite else [],
        "told": printed.getvalue() + ("" if returned is None else repr(returned)),
        "warnings": sorted({f"{each.category.__name__}: {' '.join(str(each.message).split())}" for each in told}),
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


class Seen:
    """What is recorded while an example trains."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.dtypes: set[str] = set()
        self.losses: list[float] = []
        self.scales: list[float] = []
        self.updates: list[float] = []
        self.graph: list[int] = []
        self.norms: list[float] = []
        self.reductions = self.operations = self.reads = self.loaded = self.waits = 0
        self.aside = 0
        """Above zero while something that records is at work."""

    def watch(self, stack: contextlib.ExitStack, model: torch.nn.Module) -> None:
        """Hooks and one patch, all gone when the stack ends."""
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        for layer in model.children():
            stack.callback(layer.register_forward_hook(self._output).remove)
        stack.callback(model.register_forward_pre_hook(self._graph_size).remove)
        before: dict[int, torch.Tensor] = {}

        def remember(optimizer: torch.optim.Optimizer, _arguments: object, _keywords: object) -> None:
            with self.recording():
                before[id(optimizer)] = _flat(optimizer)

        def compare(optimizer: torch.optim.Optimizer, _arguments: object, _keywords: object) -> None:
            with self.recording():
                length = float((_flat(optimizer) - before.pop(id(optimizer))).norm())
            self.updates.append(length / optimizer.param_groups[0]["lr"])

        stack.callback(register_optimizer_step_pre_hook(remember).remove)
        stack.callback(register_optimizer_step_post_hook(compare).remove)
        self.watch_scale(stack, torch.amp.GradScaler)

    def watch_scale(self, stack: contextlib.ExitStack, kind: type) -> None:
        """Note the scale after each update of a kind of scaler that has an update of its own."""
        update: Callable[..., None] = kind.update  # type: ignore[attr-defined]

        def recorded_update(scaler: torch.amp.GradScaler, new_scale: Any = None) -> None:
            update(scaler, new_scale)
            with self.recording():
                self.scales.append(scaler.get_scale())

        stack.enter_context(replaced(kind, "update", recorded_update))

    def recorded(self, loss_fn: Callable[..., torch.Tensor], factor: float) -> Callable[..., torch.Tensor]:
        """The loss function times a factor, which also keeps what it returned."""

        def loss(*arguments: Any, **keywords: Any) -> torch.Tensor:
            value = loss_fn(*arguments, **keywords)
            if factor != 1.0:
                value = value * factor
            with self.recording():
                self.losses.append(float(value.detach().mean()))
            return value

        return loss

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """What torch is given to do in here is not the example's."""
        self.aside += 1
        try:
            yield
        finally:
            self.aside -= 1

    def _output(self, _layer: object, _inputs: object, output: torch.Tensor) -> None:
        self.dtypes.add(str(output.dtype).removeprefix("torch."))

    def _graph_size(self, _model: object, _inputs: object) -> None:
        """Count the autograd nodes that the example's own variables still hold when the next forward begins."""
        frame: types.FrameType | None = sys._getframe()
        held: list[object] = []
        while frame is not None:
            if frame.f_code.co_filename == self.filename:
                held.extend(frame.f_locals.values())
            frame = frame.f_back
        self.graph.append(graph_nodes(held))


def graph_nodes(values: Iterable[object]) -> int:
    """Autograd nodes reachable from the tensors among the values, one level into lists, tuples and dicts."""
    import torch

    flat = list(values)
    for value in values:
        if isinstance(value, list | tuple):
            flat.extend(value)
        elif isinstance(value, dict):
            flat.extend(value.values())
    stack = [value.grad_fn for value in flat if isinstance(value, torch.Tensor) and value.grad_fn is not None]
    nodes: set[object] = set()
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack.extend(child for child, _ in node.next_functions if child is not None)
    return len(nodes)


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
    """Autocast on the CPU refuses binary cross entropy on probabilities, as it does on CUDA."""
    import torch

    def refuse(*_arguments: object, **_keywords: object) -> None:
        raise RuntimeError("binary_cross_entropy and BCELoss are unsafe to autocast (as on CUDA, emulated)")

    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that the CPU has a rule of its own, which is the point
        library.impl("binary_cross_entropy", refuse, "AutocastCPU", allow_override=True)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        library._destroy()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """An attribute with another value for a while."""
    old = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, old)


def _flat(optimizer: torch.optim.Optimizer) -> torch.Tensor:
    return _joined(parameter for group in optimizer.param_groups for parameter in group["params"])


def _joined(parameters: Iterable[torch.Tensor]) -> torch.Tensor:
    """All numbers in one row; of a tensor that is spread over ranks, this rank's part."""
    import torch

    own = [getattr(parameter, "to_local", lambda here=parameter: here)() for parameter in parameters]
    return torch.cat([part.detach().double().flatten() for part in own])


Instrument = Callable[[contextlib.ExitStack, Seen, "torch.nn.Module"], None]
"""Adds to what is recorded of a run, until the stack ends."""
