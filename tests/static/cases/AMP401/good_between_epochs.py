"""Evaluations in half of a copy, of a model that is made float again, and after the last epoch."""

import copy

import torch


def train_epoch(model, optimizer, scaler, batches):
    model.train()
    for inputs in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@torch.no_grad()
def evaluate(model, batches, options):
    model.eval()
    if options.half:
        model.half()
    return sum(model(inputs).mean() for inputs in batches)


@torch.no_grad()
def evaluate_and_undo(model, batches, options):
    model.eval()
    if options.half:
        model.half()
    total = sum(model(inputs).mean() for inputs in batches)
    model.float()
    return total


def of_a_copy(model, optimizer, batches, held_out, options):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(options.epochs):
        train_epoch(model, optimizer, scaler, batches)
        print(evaluate(copy.deepcopy(model), held_out, options))


def undone(net, optimizer, batches, held_out, options):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(options.epochs):
        train_epoch(net, optimizer, scaler, batches)
        print(evaluate_and_undo(net, held_out, options))


def undone_by_the_caller(net, optimizer, batches, held_out, options):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(options.epochs):
        train_epoch(net, optimizer, scaler, batches)
        print(evaluate(net, held_out, options))
        net.float()


def at_the_end(model, optimizer, batches, held_out, options):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(options.epochs):
        train_epoch(model, optimizer, scaler, batches)
    print(evaluate(model, held_out, options))
