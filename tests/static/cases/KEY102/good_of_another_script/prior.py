import os

import torch
from autoencoder import reconstruct


def main(args, model, optimizer, batches):
    path = os.path.join(args.folder, "checkpoint.pt")
    epoch = 0
    while epoch < args.epochs:
        score = sum(reconstruct(model, batch) for batch in batches)
        epoch += 1
        content = {
            "epoch": epoch,
            "score": score,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
        }
        torch.save(content, path)
