"""Switches that leave bfloat16 out."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="bfloat16")
args = parser.parse_args()
dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[args.dtype]
scaler = torch.amp.GradScaler("cuda", enabled=args.dtype in ("float16", "half"))
other = torch.amp.GradScaler("cuda", enabled=args.dtype not in ("float32", "bfloat16"))


def train(model, optimizer, batches, scaler):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


train(*torch.load("everything.pt"), scaler)
train(*torch.load("everything.pt"), other)
