"""A switch that names bfloat16 beside float16, over a region that takes its dtype from a table."""

import argparse
from contextlib import nullcontext

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="bfloat16")
args = parser.parse_args()
dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[args.dtype]
context = nullcontext() if args.dtype == "float32" else torch.autocast("cuda", dtype=dtype)
scaler = torch.amp.GradScaler("cuda", enabled=(args.dtype in ["float16", "bfloat16"]))  # expect: AMP304 likely


def train(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        with context:
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


train(*torch.load("everything.pt"))
