import torch
from train import save


def port(path, net, optimizer):
    """Reads what another program wrote, and saves it as ours."""
    found = torch.load(path, map_location="cpu")
    net.load_state_dict(found["net"])
    optimizer.load_state_dict(found["optimizer"])
    save(path, net, optimizer, found["iterations"])
