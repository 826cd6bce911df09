"""Small training programs: one right loop, and what each fault changes in it."""

from __future__ import annotations

from typing import NamedTuple

RIGHT = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
scaler = torch.amp.GradScaler("cpu")
inputs, targets = torch.randn(300, 4, 8), torch.randn(300, 4, 1)

for batch in range(300):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(inputs[batch]), targets[batch])
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    scaler.step(optimizer)
    scale = scaler.get_scale()
    scaler.update()
    if scaler.get_scale() >= scale:
        scheduler.step()
    if scale < 1:
        raise RuntimeError("the loss scale collapsed")
"""

ZERO = "    optimizer.zero_grad()\n"
BACKWARD = "    scaler.scale(loss).backward()\n"
UNSCALE = "    scaler.unscale_(optimizer)\n"
CLIP = "    nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n"
STEP = "    scaler.step(optimizer)\n"
UPDATE = "    scaler.update()\n"
FORWARD_AGAIN = """\
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(inputs[-batch]), targets[-batch])
"""
EACH = "    for p in model.parameters():\n"
PENALTY = """\
    grads = torch.autograd.grad(scaler.scale(loss), list(model.parameters()), create_graph=True)
    loss = loss + 1e-3 * sum(g.float().norm() for g in grads)
"""
STOP = """\
    if any(not p.grad.isfinite().all() for p in model.parameters()):
        raise RuntimeError("inf or NaN")
"""
GUARD = """\
    if not nn.utils.clip_grad_norm_(model.parameters(), 0.1).isfinite():
        continue
"""


class Change(NamedTuple):
    """What stands in the right loop, and what stands there instead."""

    old: str
    new: str


RIGHT_ONES: dict[str, tuple[Change, ...]] = {
    "right": (),
    "with_adamw": (Change("SGD(model.parameters(), lr=0.05, momentum=0.9)", "AdamW(model.parameters())"),),
    "with_another_scale": (Change('GradScaler("cpu")', 'GradScaler("cpu", init_scale=2.0**10, growth_interval=3)'),),
    "without_clip": (Change(UNSCALE, ""), Change(CLIP, "")),
    "in_bfloat16": (
        Change("torch.float16", "torch.bfloat16"),
        Change('GradScaler("cpu")', 'GradScaler("cpu", enabled=False)'),
        Change(STEP, STOP + STEP),
    ),
    "for_cuda": (
        Change('"cpu"', '"cuda"'),
        Change("import torch\n", 'import torch, warnings\nwarnings.simplefilter("ignore")\n'),
    ),
}

FAULTS: dict[str, tuple[Change, ...]] = {
    "clip_before_unscale": (Change(UNSCALE, ""), Change(CLIP, CLIP + UNSCALE)),
    "clip_without_unscale": (Change(UNSCALE, ""),),
    "value_clip": (Change(UNSCALE, "    nn.utils.clip_grad_value_(model.parameters(), 0.1)\n"),),
    "nan_to_num": (Change(UNSCALE, EACH + "        p.grad.nan_to_num_(posinf=0.0)\n" + UNSCALE),),
    "noise": (Change(UNSCALE, EACH + "        p.grad.add_(0.01)\n" + UNSCALE),),
    "direct_step": (Change(UNSCALE, ""), Change(STEP, "    optimizer.step()\n")),
    "direct_step_after_unscale": (Change(STEP, "    optimizer.step()\n"),),
    "double_step": (Change(STEP, STEP + "    optimizer.step()\n"),),
    "unscaled_backward": (Change(BACKWARD, "    scaler.scale(loss)\n    loss.backward()\n"),),
    "never_zeroed": (Change(ZERO, ""),),
    "zeroed_before_step": (Change(UNSCALE, "    optimizer.zero_grad(set_to_none=False)\n"),),
    "unscale_between_backwards": (Change(UNSCALE, UNSCALE + FORWARD_AGAIN + BACKWARD),),
    "update_between_backwards": (Change(UNSCALE, UNSCALE + UPDATE + FORWARD_AGAIN + BACKWARD + UNSCALE),),
    "penalty": (Change(BACKWARD, PENALTY + BACKWARD),),
    "schedule": (Change("    if scaler.get_scale() >= scale:\n        scheduler", "    scheduler"),),
    "no_update": (Change(UPDATE, ""),),
    "double_unscale": (Change(UNSCALE, UNSCALE + UNSCALE),),
    "guard_without_update": (Change(CLIP, GUARD),),
    "scaler_rebuilt": (Change(ZERO, ZERO + '    scaler = torch.amp.GradScaler("cpu")\n'),),
}

UNSEEN: dict[str, tuple[Change, ...]] = {
    "clip_after_step": (Change(CLIP, ""), Change(STEP, STEP + CLIP)),
    "backward_in_autocast": (Change(BACKWARD, f"    {BACKWARD}"),),
    "scaled_loss_logged": (Change(BACKWARD, "    loss = scaler.scale(loss)\n    loss.backward()\n    print(loss)\n"),),
}
"""Faults that leave the weights the same for every scale, and let an inf be skipped: other witnesses see them."""

PROGRAMS = RIGHT_ONES | FAULTS | UNSEEN


def program(name: str) -> str:
    """The text of a program. Every change must find what it replaces."""
    text = RIGHT
    for change in PROGRAMS[name]:
        assert change.old in text, (name, change.old)
        text = text.replace(change.old, change.new)
    return text


def line(name: str, part: str) -> int:
    """The last line of a program that holds a part."""
    return max(number for number, text in enumerate(program(name).splitlines(), start=1) if part in text)
