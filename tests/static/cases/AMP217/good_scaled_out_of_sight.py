import torch
from torch.amp import GradScaler, autocast


def scaled_out_of_sight(model, batches, engine, loss_fn):
    optimizer = torch.optim.Adam(model.parameters())
    warm_scaler, scaler = GradScaler("cuda"), GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        with autocast("cuda"):
            loss = loss_fn(model(batch))
        warm_scaler.scale(loss).backward()
        optimizer.zero_grad(set_to_none=True)
        warm_scaler.scale(loss_fn(batch)).backward()  # for the inputs: these gradients are not the model's
        engine.backward_of(scaler, loss)
        scaler.step(optimizer)
        scaler.update()
