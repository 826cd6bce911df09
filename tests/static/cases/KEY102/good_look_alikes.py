"""Checkpoints of others, guarded reads, keys that one of the saves writes."""

import torch


def save(folder, model, optimizer, epoch, best):
    torch.save({"model": model.state_dict(), "epoch": epoch}, folder / "last.pt")
    torch.save({"model": model.state_dict(), "best": best}, folder / "best.pt")
    torch.save(model.state_dict(), folder / "weights.pt")
    torch.save(optimizer.state_dict(), "optimizer.pt")


def own(folder):
    state = torch.load(folder / "last.pt")
    if "best" in state:
        print(state["best"])
    return state["model"], state["epoch"], state.get("lr")


def either(folder, name):
    state = torch.load(folder / ("last.pt" if name else "best.pt"))
    return state["best"]


def foreign(args, model):
    model.load_state_dict(torch.load(args.pretrained)["state_dict"])
    model.load_state_dict(torch.load("resnet50.pth")["net"])


def parameters(folder):
    return torch.load(folder / "weights.pt")["head.weight"]


def another_layout(args):
    state = torch.load(args.resume)
    return state["state_dict"]


def old_layout(args):
    state = torch.load(args.resume)
    try:
        return state["model"], state["iteration"]
    except KeyError:
        return state["model"], state["epoch"]
