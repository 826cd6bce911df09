"""What is written and what is read differ: same file name, and the only checkpoint there is."""

import torch

LAST = "last.pth"


def save(folder, model, optimizer, scaler, epoch):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    if scaler is not None:
        state["scaler"] = scaler.state_dict()
    torch.save(state, f"{folder}/{LAST}")


def load(folder, model, optimizer, scaler):
    path = folder + "/last.pth"
    found = torch.load(path, map_location="cpu")
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optim"])  # expect: KEY102
    scaler.load_state_dict(found["scaler"])
    return found["epoch"]


def resume(args, model):
    checkpoint = torch.load(args.resume)
    model.load_state_dict(checkpoint["model"])
    return checkpoint["step"]  # expect: KEY102 likely


def resumes_and_saves(model, optimizer, epochs, resumed):
    start = 0
    if resumed:
        state = torch.load("run/state.ckpt")
        model.load_state_dict(state["model"])
        start = state["epoch_number"]  # expect: KEY102
    for epoch in range(start, epochs):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, "run/state.ckpt")
