"""A run may resume from either checkpoint, and one of them lacks what resuming reads."""

import torch


def keep(state, path):
    torch.save(state, path)


def train(model, optimizer, batches, folder, args):
    turn, best = 0, None
    if args.resume:
        source = args.resume
        kept = torch.load(source, map_location="cpu")
        model.load_state_dict(kept["weights"])
        optimizer.load_state_dict(kept["optimizer"])
        turn = kept["turn"]  # expect: KEY102 likely
    for inputs, targets in batches:
        loss = (model(inputs) - targets).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        turn += 1
        if best is None or loss.item() < best:
            best = loss.item()
            state = {"loss": best, "weights": model.state_dict(), "optimizer": optimizer.state_dict()}
            keep(state, folder + "/best.pt")
    keep({"turn": turn, "weights": model.state_dict(), "optimizer": optimizer.state_dict()}, folder + "/end.pt")
