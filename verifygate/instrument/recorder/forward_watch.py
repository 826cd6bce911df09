"""Watch what autocast decides in a forward: losses behind a region, constants that half cannot hold, other threads.

The functions are torch's builtins: what calls them under another name (a module, `torch.nn.functional`) is covered.
"""

from __future__ import annotations

import math
import threading
from concurrent.futures import thread as pools
from typing import Any

import torch

from ..patching.wrapping import After
from .evaluated_losses import BEGINS, EvaluatedLosses
from .recording import Arguments, Keywords, Recording, error_name

LOSSES = (
    "cross_entropy_loss nll_loss_nd mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy soft_margin_loss "
    "multi_margin_loss multilabel_margin_loss"
)
"""In `torch._C._nn`."""
MORE_LOSSES = (
    "binary_cross_entropy_with_logits kl_div ctc_loss poisson_nll_loss cosine_embedding_loss hinge_embedding_loss "
    "margin_ranking_loss triplet_margin_loss"
)
"""In `torch`."""
REDUCTIONS = ("sum", "mean", "norm", "prod")
LIFTED = (
    "log_softmax softmax logsumexp exp expm1 log log1p log2 log10 pow __pow__ square rsqrt cumsum cumprod dist cdist"
)
"""With the reductions: what a loss is written of by hand. CUDA's autocast lifts nearly all of it to float32."""
BY_HAND = 8
"""How many of these are told of between two backwards."""
FILLING = "masked_fill masked_fill_ fill_ full_like where clamp clamp_min clamp_max clip __setitem__".split()  # noqa: SIM905
"""What takes a constant beside a tensor: methods of Tensor, and functions of torch."""
LARGEST = 65504.0
"""float16's."""
MARK = "_verifygate_started_in_region"


class ForwardWatch:
    """Tells of few things only: nothing is told of a forward in which nothing of the kind happens."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._tasks = threading.local()
        self._told: set[int] = set()
        self._looks = False
        self._evaluated = EvaluatedLosses(recording)

    def patch(self) -> None:
        """Put the watch around losses, around what takes constants, and around what starts threads."""
        around = self.recording.around_operator
        for module, names in ((torch._C._nn, LOSSES), (torch, MORE_LOSSES)):
            for name in names.split():
                around(module, name, self._loss(name))
        for name in (*REDUCTIONS, *LIFTED.split()):
            for owner in (torch.Tensor, torch):
                around(owner, name, self._by_hand(name))
        for name in FILLING:
            around(torch.Tensor, name, self._filling(name), beside=True)
            around(torch, name, self._filling(name), beside=True)
        self.recording.around(threading.Thread, "start", self._start)
        item = getattr(pools, "_WorkItem", None)
        if item is not None:
            self.recording.around(item, "__init__", self._submitted)
            self.recording.around(item, "run", self._run)

    # --- values

    def _loss(self, name: str) -> Any:
        def before(arguments: Arguments, _keywords: Keywords) -> After | None:
            given = arguments[0] if arguments else None
            if not isinstance(given, torch.Tensor):
                return None
            half = given.dtype is torch.float16 and not self.recording.autocast()

            def after(result: Any, raised: BaseException | None) -> None:
                refused = raised is not None and "unsafe to autocast" in str(raised)
                if refused or (half and raised is None and result.dtype is torch.float16):
                    self.recording.tell(
                        "loss",
                        function=name,
                        refused=refused or None,
                        evaluated=not given.requires_grad or None,
                        raised=error_name(raised),
                    )

            return after if half or name == "binary_cross_entropy" else None

        return before

    def _by_hand(self, name: str) -> Any:
        def follow(result: Any, raised: BaseException | None) -> None:
            if raised is None and result.dtype is torch.float16:
                self._evaluated.begin(name, result)

        def before(arguments: Arguments, _keywords: Keywords) -> After | None:
            given, recording = arguments[0] if arguments else None, self.recording
            self._evaluated.leave()
            if not isinstance(given, torch.Tensor) or given.dtype is not torch.float16:
                return None
            if not recording.devices or recording.autocast() or recording.inside:
                return None
            if not given.requires_grad:
                return follow if name in BEGINS else None

            def after(result: Any, raised: BaseException | None) -> None:
                if raised is None and recording.roots.marked_events < BY_HAND and _is_part_of_a_loss(name, result):
                    number = recording.tell("loss", function=name, by_hand=True)
                    recording.roots.mark_event(result, number)

            return after

        return before

    def _filling(self, name: str) -> Any:
        def before(arguments: Arguments, keywords: Keywords) -> After | None:
            value = next((each for each in (*arguments, *keywords.values()) if _is_too_large(each)), None)
            if value is None or "float16" not in (self.recording.autocast() or "").split():
                return None
            if not any(isinstance(each, torch.Tensor) and each.dtype is torch.float16 for each in arguments):
                return None

            def after(result: Any, raised: BaseException | None) -> None:
                filled = arguments[0] if name == "__setitem__" else result
                if raised is not None or filled.dtype is torch.float16:
                    self.recording.tell("overflow", function=name, value=float(value), raised=error_name(raised))

            return after

        return before

    # --- threads

    def _start(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        thread: Any = arguments[0]
        worker = getattr(thread, "_target", None) is getattr(pools, "_worker", self)
        if not worker and self.recording.autocast():  # a pool's threads take tasks from inside and outside of regions
            setattr(thread, MARK, self._handed("thread"))
        return None

    def _submitted(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        if self.recording.autocast():
            setattr(arguments[0], MARK, self._handed("task"))
        return None

    def _run(self, arguments: Arguments, _keywords: Keywords) -> After | None:
        number = getattr(arguments[0], MARK, None)
        if number is None:
            return None
        self._tasks.number = number

        def after(_result: object, _raised: BaseException | None) -> None:
            self._tasks.number = None

        return after

    def _handed(self, what: str) -> int:
        """Tell that work is handed to another thread from within a region; from then on look at forwards."""
        if not self._looks:
            self._looks = True
            torch.nn.modules.module.register_module_forward_pre_hook(self._forward)
        return self.recording.tell("handed", what=what)

    def _forward(self, module: torch.nn.Module, _inputs: object) -> None:
        number = getattr(self._tasks, "number", None) or getattr(threading.current_thread(), MARK, None)
        if number is None or number in self._told or torch.compiler.is_compiling():
            return
        try:
            if any(each.is_floating_point() for each in module.parameters(False)) and not self.recording.autocast():
                self._told.add(number)
                self.recording.tell("forward", handed=number, type=type(module).__qualname__)
        except Exception as error:
            self.recording.failed(error)


def _is_part_of_a_loss(name: str, result: Any) -> bool:
    """Whether it is float16; of what adds up, only one number counts: the rest may be a layer's."""
    return (
        isinstance(result, torch.Tensor)
        and result.dtype is torch.float16
        and (name not in REDUCTIONS or result.numel() == 1)
    )


def _is_too_large(value: object) -> bool:
    """A finite number that float16 makes an inf of, or refuses."""
    return type(value) in (int, float) and LARGEST < abs(value) < math.inf  # type: ignore[arg-type]
