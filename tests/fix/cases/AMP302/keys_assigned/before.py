import io

import torch


def epoch(model, loss_fn, optimizer, scaler, batches, device, file):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    last = {}
    last["model"] = model.state_dict()
    last["optimizer"] = optimizer.state_dict()
    torch.save(last, file)
    file.seek(0)


def part(model, loss_fn, optimizer, batches, device, file, begun):
    scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=3)

    def resume():
        last = torch.load(file)
        model.load_state_dict(last["model"])
        optimizer.load_state_dict(last["optimizer"])

    if begun:
        resume()
        file.seek(0)
    epoch(model, loss_fn, optimizer, scaler, batches, device, file)
    return scaler.get_scale()


def train(model, loss_fn, optimizer, scaler, batches, device):
    file = io.BytesIO()
    part(model, loss_fn, optimizer, batches, device, file, begun=False)
    return part(model, loss_fn, optimizer, batches, device, file, begun=True)
