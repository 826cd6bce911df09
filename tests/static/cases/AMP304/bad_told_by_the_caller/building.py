import torch


def build(model, lr, mixed_precision=False):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    scaler = torch.amp.GradScaler("cuda") if mixed_precision else None  # expect: AMP304 likely
    return optimizer, scaler
