"""A scaler of the module, which functions ask for in two ways."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
args = parser.parse_args()

model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda") if args.amp else None


def backward(loss, loss_scaler):
    if loss_scaler is not None:
        loss_scaler.scale(loss).backward()
    else:
        loss.backward()


def train(loader):
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=args.amp):
            loss = model(batch.cuda()).pow(2).mean()
        backward(loss, scaler)
        if args.amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
