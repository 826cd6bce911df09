"""A scaler that is switched off where the same setting turns the region on, in another function."""

import argparse

import torch


def train(model, batches, optimizer, scaler, args):
    for batch in batches:
        optimizer.zero_grad()
        if args.precision == "amp":
            with torch.autocast("cuda"):
                loss = model(batch).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            model(batch).mean().backward()
            optimizer.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", default="amp")
    args = parser.parse_args()
    model = torch.nn.Linear(2, 2).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=False) if args.precision == "amp" else None  # expect: AMP303 likely
    train(model, torch.load("batches.pt"), optimizer, scaler, args)


main()
