"""Lists that nothing is added to."""

import torch


def statistics(outputs, kind):
    other = []
    other.append(kind)
    if kind == "multi-class":
        return [{"accuracy": outputs.mean()}]
    return [{"precision": outputs}, {"precision": outputs, "other": other}]


def by_a_loop(model, inputs):
    with torch.autocast("cuda"):
        outputs = model(inputs)
    return [row["recall"] for row in statistics(outputs, "multi-label")]  # expect: KEY101
