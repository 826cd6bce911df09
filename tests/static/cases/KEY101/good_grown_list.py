"""One of two lists is written out, the other is filled: its elements may have the key."""

import torch


def statistics(outputs, targets, kind="multi-label"):
    rows = []
    if kind == "multi-class":
        return [{"accuracy": outputs.mean()}]
    for number in range(targets.shape[0]):
        rows.append({"precision": outputs[number], "number": number})
    return rows


def by_a_loop(model, inputs, targets):
    with torch.autocast("cuda"):
        outputs = model(inputs)
    return [row["precision"] for row in statistics(outputs, targets)]


def by_a_position(outputs, targets):
    return statistics(outputs, targets)[0]["precision"]


def through_a_variable(outputs, targets):
    rows = statistics(outputs, targets)
    for row in rows:
        print(row["number"])
    first = rows[0]
    return first["precision"]


def added(outputs):
    rows = [{"start": 0}]
    rows += [{"end": outputs}]
    return rows[-1]["end"]


def fill(rows, outputs):
    rows.extend({"loss": each} for each in outputs)


def handed_over(outputs):
    rows = [{"start": 0}]
    fill(rows, outputs)
    return sum(row["loss"] for row in rows[1:])


class History:
    def __init__(self):
        self.rows = [{"epoch": 0}]

    def add(self, loss):
        self.rows.append({"epoch": len(self.rows), "loss": loss})

    def last(self):
        return self.rows[-1]["loss"]
