import torch


def save(path, net, optimizer):
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)


def load(path, net):
    """No state of an optimizer: anybody's weights."""
    found = torch.load(path, map_location="cpu")
    net.load_state_dict(found["model"])
    return found["epoch"]


def of_others(path, net, optimizer):
    """Under other keys than ours: another program's."""
    found = torch.load(path, map_location="cpu")
    net.load_state_dict(found["module"])
    optimizer.load_state_dict(found["optimizer_states"])
    return found["global_step"]
