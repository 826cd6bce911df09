import os

import torch


class Checkpoint:
    def __init__(self, path):
        self.path = path

    def put(self, model, optimizer, scaler, turn):
        state = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scaler": scaler.state_dict(),
            "turn": turn,
        }
        _write(self.path, state)

    def take(self, model, optimizer, scaler):
        state = torch.load(self.path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        scaler.load_state_dict(state["scaler"])
        return state["turn"]


def _write(path, state):
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)
