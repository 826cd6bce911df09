from torch.cuda import is_available
from torch import amp


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler: amp.GradScaler = amp.GradScaler("cuda", enabled=is_available())
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with amp.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
