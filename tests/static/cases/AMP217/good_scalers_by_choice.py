import torch
from torch.amp import GradScaler, autocast


def maybe_shared(encoder, head, batches, shared):
    encoder_optimizer = torch.optim.Adam(encoder.parameters())
    scaler = GradScaler("cuda")
    head_scaler = scaler if shared else GradScaler("cuda", init_scale=1024.0)
    for loss in batches:
        encoder_optimizer.zero_grad(set_to_none=True)
        (scaler if shared else head_scaler).scale(loss).backward()
        head_scaler.step(encoder_optimizer)
        head_scaler.update()


def by_index(models, losses_of, batches):
    optimizers = [torch.optim.Adam(model.parameters()) for model in models]
    first, second = GradScaler("cuda"), GradScaler("cuda")
    scalers = [first, second]
    for batch in batches:
        for index, loss in enumerate(losses_of(models, batch)):
            optimizers[index].zero_grad(set_to_none=True)
            scalers[index].scale(loss).backward()
            scalers[index].step(optimizers[index])
            scalers[index].update()


def chosen(model, batches, large, loss_fn):
    optimizer = torch.optim.Adam(model.parameters())
    small_scaler, large_scaler = GradScaler("cuda", init_scale=64.0), GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        with autocast("cuda"):
            loss = loss_fn(model(batch))
        scaler = large_scaler if large else small_scaler
        scaler.scale(loss).backward()
        if large:
            large_scaler.step(optimizer)
            large_scaler.update()
        else:
            small_scaler.step(optimizer)
            small_scaler.update()
