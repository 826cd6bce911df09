import torch


def save(path, net, optimizer, scaler):
    torch.save({"net": net.state_dict(), "optim": optimizer.state_dict(), "amp": scaler.state_dict()}, path)


def load(path, net, optimizer, scaler):
    """Whoever takes an optimizer's state goes on with a run of this program."""
    found = torch.load(path, map_location="cpu")
    net.load_state_dict(found["model"])  # expect: KEY102 likely
    optimizer.load_state_dict(found["optim"])
    scaler.load_state_dict(found["amp"])
    print(found["version"])  # expect: KEY102 likely


def train(net, optimizer, scaler, path):
    save(path, net, optimizer, scaler)
    load(path, net, optimizer, scaler)


def save_for_export(path, net):
    """No save to resume from: what it lacks is no fault of the load."""
    torch.save({"net": net.state_dict(), "version": 3}, path)
