"""Optimizer states that are kept, in many shapes, and no scaler's anywhere."""

import torch
from torch.cuda import amp


def script(model, batches, args):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = amp.GradScaler(enabled=args.amp)
    if args.resume:
        checkpoint = torch.load(args.resume)
        optimizer.load_state_dict(checkpoint["optimizer"])
    for epoch in range(args.epochs):
        for batch in batches:
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        torch.save(
            {
                "epoch": epoch,
                "optimizer": optimizer.state_dict(),  # expect: AMP302
            },
            "last.pt",
        )


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.loss_scale = torch.amp.GradScaler("cuda")

    def checkpoint(self):
        state = {"model": self.model.state_dict()}
        state["optim"] = self.opt.state_dict()  # expect: AMP302
        return state

    def restore(self, state):
        self.opt.load_state_dict(state["optim"])


def keep(optimizer, epoch, path):
    states = optimizer.state_dict() if optimizer is not None else None  # expect: AMP302
    torch.save({"epoch": epoch, "optimizer_state": states}, path)


def another_script(model, optimizer, epochs):
    scaler = amp.GradScaler()
    for epoch in range(epochs):
        scaler.scale(model(epoch)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        keep(optimizer, epoch, "last.pt")
