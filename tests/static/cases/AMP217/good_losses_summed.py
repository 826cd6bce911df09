import torch
from torch.amp import GradScaler, autocast


def summed(left, right, batches, left_loss, right_loss):
    left_optimizer = torch.optim.Adam(left.parameters())
    right_optimizer = torch.optim.Adam(right.parameters())
    left_scaler, right_scaler = GradScaler("cuda"), GradScaler("cuda")
    for batch in batches:
        left_optimizer.zero_grad(set_to_none=True)
        right_optimizer.zero_grad(set_to_none=True)
        with autocast("cuda"):
            first, second = left_loss(left(batch)), right_loss(right(batch))
        (left_scaler.scale(first) + right_scaler.scale(second)).backward()
        left_scaler.step(left_optimizer)
        right_scaler.step(right_optimizer)
        left_scaler.update()
        right_scaler.update()
