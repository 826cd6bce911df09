"""The region looks its dtype up in torch by an option, which may be bfloat16; another region stands in the model."""

import argparse

import torch


def train(args, model, loss_fn, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda", enabled=args.mixed_precision)  # expect: AMP304 likely
    for inputs, targets in loader:
        optimizer.zero_grad()
        dtype = getattr(torch, args.precision_dtype, torch.float16)
        with torch.autocast("cuda", enabled=args.mixed_precision, dtype=dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def half_region(enabled, name="float16"):
    dtypes = {"float16": torch.float16, "bfloat16": torch.bfloat16}
    return torch.autocast("cuda", enabled=enabled, dtype=dtypes[name])


def train_by_names(options, model, loss_fn, optimizer, loader):
    scaler = torch.amp.GradScaler("cuda", enabled=getattr(options, "common.mixed_precision"))  # expect: AMP304 likely
    for inputs, targets in loader:
        optimizer.zero_grad()
        with half_region(options.mixed, options.mixed_precision_dtype):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Network(torch.nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, inputs):
        with torch.autocast("cuda", enabled=self.args.mixed_precision, dtype=torch.bfloat16):
            return self.layer(inputs)


def train_in_parallel(args, loss_fn, optimizer, loader):
    model = torch.nn.DataParallel(Network(args))
    scaler = torch.amp.GradScaler("cuda", enabled=args.mixed_precision)  # expect: AMP304
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(inputs).float(), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mixed_precision", action="store_true")
    parser.add_argument("--precision_dtype", default="float16", choices=["float16", "bfloat16", "float32"])
    train(parser.parse_args(), *[None] * 4)
