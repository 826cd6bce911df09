"""Record what a run does with AMP, from outside: no line of the subject changes, nor any result, warning or error.

    scaler      made, scale, unscale_, step, update, state_dict, load_state_dict (subclasses too)
    autocast    the outermost enabled region of each thread, entered and left; nested regions are counted
    gradients   backward (and what its root descends from), autograd.grad, clips, zero_grad, writes by the project's
                own code
    weights     updates that half precision loses, inf and NaN in half weights: of a few steps, when a section ends
    sharding    the weights that FSDP2 shards by a policy in half, and the gradients that ranks add up in half
    the rest    optimizer and scheduler steps, torch.save, DataLoader iterations

An event tells what happened, where in the project, in which step, and under which autocast. A value is read from a
tensor only where that makes nobody wait for a device. The verdict on the events is the gate's: no rule is known here.
"""

from __future__ import annotations

from typing import Any

from ..launch import Tell
from . import compilation
from .forward_watch import ForwardWatch
from .gradient_watch import GradientWatch
from .low_precision import Sampler
from .recording import Recording
from .reduction_watch import ReductionWatch
from .region_watch import RegionWatch
from .scaler_watch import ScalerWatch
from .sharding_watch import ShardingWatch
from .step_watch import StepWatch
from .update_watch import UpdateWatch
from .write_watch import WriteWatch

current: Recording | None = None
"""The recording of this process, for who divides it into sections."""


def install(options: dict[str, Any], _tell: Tell) -> Recording:
    """Record into the folder `trace` of the options' folder, for the whole life of the process.

    Options: `head` and `tail` (events), `sample` (whether to sample a few steps for the low-precision share),
    `emulated` (whether a tensor that says it is on CUDA is not).
    """
    global current
    current = recording = Recording(options)
    if options.get("sample"):
        recording.sampler = Sampler(recording)
    compilation.watch(recording.around)
    recording.updates = UpdateWatch(recording)
    recording.reductions = ReductionWatch(recording)
    steps = StepWatch(recording)
    scalers, gradients = ScalerWatch(recording, steps), GradientWatch(recording, steps)
    regions, forwards, shards = RegionWatch(recording), ForwardWatch(recording), ShardingWatch(recording)
    for watch in (steps, scalers, regions, gradients, forwards, recording.reductions, shards):
        watch.patch()
    recording.scalers = scalers.scalers
    recording.writes = WriteWatch(recording, steps)
    if options.get("emulated"):
        recording.writes.begin()  # nobody times such a run, and the first write is seen as well
    return recording
