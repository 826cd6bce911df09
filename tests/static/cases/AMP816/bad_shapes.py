"""Checkpoints to resume from without the scales: filtered on saving, on loading, by deletion and by a loop."""

import torch
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling


def forward(net, x):
    with te.fp8_autocast(enabled=True, fp8_recipe=DelayedScaling()):
        return net(x)


def save(net, opt, path):
    state = net.state_dict()
    for name in list(state.keys()):
        if name.endswith("_extra_state"):  # expect: AMP816 likely
            state.pop(name)
    torch.save({"net": state, "opt": opt.state_dict()}, path)


def resume(net, opt, path):
    kept = torch.load(path)
    weights = {}
    for name, value in kept["net"].items():
        if "_extra_state" in name:  # expect: AMP816 likely
            continue
        weights[name] = value
    net.load_state_dict(weights, strict=False)
    opt.load_state_dict(kept["opt"])


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.AdamW(net.parameters())

    def restore(self, kept):
        self.net.load_state_dict(
            {k: v for k, v in kept["net"].items() if not k.endswith("._extra_state")},  # expect: AMP816 likely
            strict=False,
        )
        self.optimizer.load_state_dict(kept["optimizer"])
