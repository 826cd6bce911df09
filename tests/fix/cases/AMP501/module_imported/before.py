from torch.cuda import amp, is_available


def train(model, loss_fn, optimizer, scaler, batches, device):
    scaler: amp.GradScaler = amp.GradScaler(enabled=is_available())
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with amp.autocast():
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
