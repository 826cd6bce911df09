"""Islands that cast, that compute with something else, or that are none."""

import torch
from torch.cuda.amp import autocast


def cast_at_the_door(model, criterion, inputs, targets):
    with autocast():
        outputs = model(inputs)
        with autocast(enabled=False):
            return criterion(outputs.float(), targets)


def cast_before(model, criterion, inputs, targets):
    with autocast():
        outputs = model(inputs)
        outputs = outputs.float()
        with autocast(enabled=False):
            return criterion(outputs, targets)


def careful(outputs, targets):
    return ((outputs.float() - targets) ** 2).mean()


def cast_in_the_callee(model, inputs, targets):
    with autocast():
        outputs = model(inputs)
        with autocast(enabled=False):
            return careful(outputs, targets)


def of_float32_inputs(model, transform, inputs):
    with autocast():
        with autocast(enabled=False):
            prepared = transform(inputs)
        return model(prepared)


def after_the_region(model, criterion, inputs, targets):
    with torch.autocast("cuda"):
        loss = criterion(model(inputs), targets)
    with torch.autocast("cuda", enabled=False):
        return loss * 2


def cast_between(model, criterion, inputs, targets):
    with torch.autocast("cuda"):
        outputs = model(inputs)
    outputs = outputs.float()
    with torch.autocast("cuda", enabled=False):
        return criterion(outputs, targets)


def in_the_other_arm(model, criterion, inputs, targets, half):
    if half:
        with torch.autocast("cuda"):
            outputs = model(inputs)
            return outputs, criterion(outputs, targets)
    outputs = model(inputs)
    with torch.autocast("cuda", enabled=False):
        return outputs, criterion(outputs, targets)


def shown_after(model, writer, inputs):
    with torch.autocast("cuda"):
        outputs = model(inputs)
    with torch.autocast("cuda", enabled=False):
        writer.show(outputs)
