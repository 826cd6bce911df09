import torch


def take_up(path, model, optimizer, schedule):
    kept = torch.load(path)
    weights = kept["weights"]
    moments = kept["optimizer"]  # expect: AMP302
    rates = kept["schedule"]

    model.load_state_dict(weights, strict=False)
    schedule.load_state_dict(rates)
    optimizer.load_state_dict(moments)
    return kept["turn"]
