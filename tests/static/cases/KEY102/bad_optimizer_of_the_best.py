import torch


def load(path, net, optimizer):
    found = torch.load(path, map_location="cpu")
    net.load_state_dict(found["net"])
    optimizer.load_state_dict(found["optimizer"])
    return found["turn"], found["rate"]  # expect: KEY102 likely


def save(path, net, optimizer, turn, rate):
    torch.save({"net": net.state_dict(), "turn": turn, "optimizer": optimizer.state_dict(), "rate": rate}, path)


def save_best(path, net, optimizer, rate):
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "rate": rate}, path)
