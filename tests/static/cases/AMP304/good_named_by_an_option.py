"""Options that allow no bfloat16, or none where the scaler is on; a model with a region of its own, in another loop."""

import argparse

import torch


def train(args, model, loss_fn, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda", enabled=args.mixed_precision)
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=args.mixed_precision, dtype=getattr(torch, args.half_dtype)):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def train_other(args, model, loss_fn, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda", enabled=args.any_dtype == "float16")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=getattr(torch, args.any_dtype)):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Network(torch.nn.Module):
    def forward(self, inputs):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return inputs @ inputs.t()


def train_without(optimizer, loader):
    model = torch.nn.DataParallel(Network())
    for inputs in loader:
        optimizer.zero_grad()
        model(inputs).float().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mixed_precision", action="store_true")
    parser.add_argument("--half_dtype", choices=["float16", "float32"])
    parser.add_argument("--any_dtype", choices=("float16", "bfloat16"))
    train(parser.parse_args(), *[None] * 4)
    train_other(parser.parse_args(), *[None] * 4)
    train_without(None, [])
