"""Weights that change before the region, between two regions, or in another model."""

import torch


def restored_before_evaluation(model, ema, loader):
    ema.apply_shadow()
    with torch.autocast("cuda"):
        outputs = [model(inputs) for inputs in loader]
    ema.restore()
    return outputs


def two_regions(model, ema, inputs):
    with torch.autocast("cuda"):
        predicted = model(inputs)
    ema.copy_to(model.parameters())
    with torch.autocast("cuda"):
        return predicted, model(inputs)


def own_copy_for_the_teacher(student, teacher, inputs):
    with torch.autocast("cuda"):
        predicted = student(inputs)
        teacher.load_state_dict(student.state_dict())
        wanted = teacher(inputs)
    return predicted, wanted


def casts_not_kept(model, ema, inputs):
    with torch.autocast("cuda", cache_enabled=False):
        predicted = model(inputs)
        ema.copy_to(model.parameters())
        return predicted, model(inputs)


def loaded_first(model, criterion, path, inputs, targets):
    with torch.autocast("cuda"):
        model.load_state_dict(torch.load(path))
        return criterion(model(inputs), targets)
