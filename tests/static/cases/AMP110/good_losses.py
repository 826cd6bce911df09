"""Losses inside the region, on cast outputs, in float32 arms, or in losses that cast."""

import torch
import torch.nn.functional as F


def inside(model, criterion, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward()


def cast_first(model, criterion, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            outputs = model(inputs)
        outputs = outputs.float()
        scaler.scale(criterion(outputs, targets)).backward()


def cast_in_place(model, criterion, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            outputs = model(inputs)
        scaler.scale(criterion(outputs.float(), targets)).backward()


def other_arm(model, criterion, scaler, batches, amp):
    for inputs, targets in batches:
        if amp:
            with torch.autocast("cuda"):
                outputs = model(inputs)
                loss = criterion(outputs, targets)
        else:
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward()


def early_way_out(model, criterion, scaler, batches, amp):
    for inputs, targets in batches:
        if amp:
            with torch.autocast("cuda"):
                outputs = model(inputs)
                loss = criterion(outputs, targets)
            scaler.scale(loss).backward()
            continue
        outputs = model(inputs)
        criterion(outputs, targets).backward()


def model_that_returns_its_loss(model, loss_scaler, optimizer, batches):
    for inputs in batches:
        with torch.autocast("cuda"):
            loss, outputs = model(inputs)
        loss_scaler(loss, optimizer, parameters=model.parameters())


def careful_loss(outputs, targets):
    return F.mse_loss(outputs.float(), targets)


def loss_that_casts(model, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            outputs = model(inputs)
        scaler.scale(careful_loss(outputs, targets)).backward()


def second_region(model, criterion, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            outputs = model(inputs)
        with torch.autocast("cuda"):
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward()


def targets_from_a_frozen_net(model, teacher, criterion, scaler, batches):
    for inputs, _ in batches:
        with torch.no_grad(), torch.autocast("cuda"):
            wanted = teacher(inputs)
        with torch.autocast("cuda"):
            loss = criterion(model(inputs), wanted)
        scaler.scale(loss).backward()


def promoted_by_the_targets(model, scaler, batches):
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            outputs = model(inputs)
        scaler.scale(F.mse_loss(outputs, targets)).backward()
