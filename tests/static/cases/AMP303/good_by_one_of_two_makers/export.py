import torch
from wrapper import LossScaler


def main(model, path):
    loss_scaler = LossScaler()
    model.load_state_dict(torch.load(path)["model"])
    return model, loss_scaler
