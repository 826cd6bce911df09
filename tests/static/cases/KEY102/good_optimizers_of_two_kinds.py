"""Two loads in one file, each with a save of its own."""

import torch


def load(path, net, optimizer):
    found = torch.load(path, map_location="cpu")
    net.load_state_dict(found["net"])
    optimizer.load_state_dict(found["optimizer"])
    return found["turn"], found["rate"]


def load_pair(path, critic, encoder, optimizer):
    found = torch.load(path, map_location="cpu")
    for name, net in (("critic", critic), ("encoder", encoder)):
        net.load_state_dict(found[name])
    optimizer.load_state_dict(found["optimizer"])
    return found["turn"], found["rate"]


def save(path, net, optimizer, turn, rate):
    torch.save({"net": net.state_dict(), "turn": turn, "optimizer": optimizer.state_dict(), "rate": rate}, path)


def save_pair(path, critic, encoder, optimizer, turn, rate):
    """Nothing that `load` is meant for."""
    torch.save(
        {
            "critic": critic.state_dict(),
            "encoder": encoder.state_dict(),
            "turn": turn,
            "optimizer": optimizer.state_dict(),
            "rate": rate,
        },
        path,
    )
