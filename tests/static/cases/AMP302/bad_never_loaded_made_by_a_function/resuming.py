import torch


def resume(path, model, optimizer, scaler):
    kept = torch.load(path)
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])  # expect: AMP302
