"""Regions for the CPU over what an option moves to a GPU, or what two arms move there, each in its own way."""

import torch


def moved_by_option(model, loss_fn, batches, args):
    for inputs, targets in batches:
        if args.gpu is not None:
            inputs = inputs.cuda(args.gpu)
        with torch.autocast("cpu", dtype=torch.bfloat16):  # expect: AMP105 likely
            loss = loss_fn(model(inputs), targets)
        loss.backward()


def moved_in_both_arms(model, loss_fn, batches, args):
    for inputs, targets in batches:
        if args.gpu is not None:
            inputs = inputs.cuda(args.gpu)
        else:
            inputs = inputs.cuda()
        with torch.autocast("cpu", dtype=torch.bfloat16):  # expect: AMP105
            loss = loss_fn(model(inputs), targets)
        loss.backward()


def moved_under_the_same_condition(model, loss_fn, batches, args):
    for inputs, targets in batches:
        if args.half:
            inputs = inputs.cuda()
            with torch.autocast("cpu", dtype=torch.bfloat16):  # expect: AMP105
                loss = loss_fn(model(inputs), targets)
            loss.backward()
