import os

import torch


def main(args, model, optimizer, batches):
    path = os.path.join(args.folder, "checkpoint.pt")
    if args.resumes:
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        epoch, best = checkpoint["epoch"], checkpoint["best"]
    else:
        epoch, best = 0, float("inf")
    while epoch < args.epochs:
        best = min(best, sum(reconstruct(model, batch) for batch in batches))
        epoch += 1
        content = {
            "epoch": epoch,
            "best": best,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        torch.save(content, path)


def reconstruct(model, batch):
    return (model(batch) - batch).square().mean()
