"""Resuming takes the newest file of the folder that the only save writes to, and more than that save puts in."""

import os

import torch


def main(args, model, optimizer, loader):
    start = 0
    if args.mode == "train" and args.resume:
        newest = sorted(os.listdir(args.folder))[-1]
        state = torch.load(os.path.join(args.folder, newest))
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])  # expect: KEY102 likely
        start = state["epoch"] + 1  # expect: KEY102 likely
    for epoch in range(start, args.epochs):
        for inputs in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(inputs).mean()
            loss.backward()
            optimizer.step()
        torch.save({"model": model.state_dict()}, f"{args.folder}/model_{epoch:06}.ckpt")
