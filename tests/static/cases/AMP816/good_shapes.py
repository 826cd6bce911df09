"""Exports of weights, missing keys that are looked through, whole states, a filter that keeps the scales apart."""

import torch
import transformer_engine.pytorch as te


def forward(net, x):
    with te.fp8_autocast(enabled=True):
        return net(x)


def export(net, path):
    torch.save({k: v for k, v in net.state_dict().items() if "_extra_state" not in k}, path)


def resume(net, opt, path):
    kept = torch.load(path)
    told = net.load_state_dict(kept["net"], strict=False)
    missing = [k for k in told.missing_keys if "_extra_state" not in k]
    for k in list(told.unexpected_keys):
        if "_extra_state" in k:
            print("scales of an older version", k)
    assert not missing
    opt.load_state_dict(kept["opt"])


def save(net, opt, path):
    scales = {k: v for k, v in net.state_dict().items() if "_extra_state" in k}
    print(len(scales), "layers compute in float8")
    torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, path)


def save_apart(net, opt, path):
    state = net.state_dict()
    scales = {k: v for k, v in state.items() if k.endswith("_extra_state")}
    weights = {k: v for k, v in state.items() if not k.endswith("_extra_state")}
    torch.save({"net": weights, "scales": scales, "opt": opt.state_dict()}, path)
