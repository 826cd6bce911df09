"""States that are written to a temporary folder, and taken elsewhere before it goes."""

import os
import tempfile

import torch
from tracking import Checkpoint, download, log_artifact, report


def save(model, optimizers, step):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "latest.pt")
        states = {"step": step, "model": model.state_dict()}
        for number, optimizer in enumerate(optimizers):
            states[f"optimizer_{number}"] = optimizer.state_dict()  # expect: AMP302
        torch.save(states, path)
        log_artifact(path, folder="checkpoints")


def save_for_trials(model, optimizer, metrics):
    with tempfile.TemporaryDirectory() as folder:
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}  # expect: AMP302
        torch.save(states, os.path.join(folder, "states.pt"))
        report(metrics, checkpoint=Checkpoint.from_directory(folder))


def load(model, optimizers):
    states = torch.load(download("checkpoints/latest.pt"))
    model.load_state_dict(states["model"])
    for number, optimizer in enumerate(optimizers):
        optimizer.load_state_dict(states[f"optimizer_{number}"])


def train(model, optimizers, batches):
    load(model, optimizers)
    scaler = torch.amp.GradScaler("cuda")
    for step, batch in enumerate(batches):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        save(model, optimizers, step)
        save_for_trials(model, optimizers[0], {"loss": loss.item()})
