import torch


def resume(model, optimizer, path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])  # expect: AMP302
