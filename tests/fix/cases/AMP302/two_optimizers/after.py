import io

import torch


def run(model, loss_fn, head, body, batches, device, path, resume=False):
    scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=3)
    if resume:
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        head.load_state_dict(checkpoint["optim_head"])
        body.load_state_dict(checkpoint["optim_body"])
        if checkpoint.get("scaler"):
            scaler.load_state_dict(checkpoint["scaler"])
        path.seek(0)
    for inputs, targets in batches:
        head.zero_grad(set_to_none=True)
        body.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(head)
        scaler.step(body)
        scaler.update()
    torch.save(
        {
            "model": model.state_dict(),
            # both optimizers
            "optim_head": head.state_dict(),
            "optim_body": body.state_dict(),
            "scaler": scaler.state_dict(),
        },
        path,
    )
    return scaler.get_scale()


def train(model, loss_fn, optimizer, scaler, batches, device):
    rate = optimizer.param_groups[0]["lr"]
    head = torch.optim.SGD(model.out.parameters(), lr=rate)
    body = torch.optim.SGD([*model.into.parameters(), *model.island.parameters()], lr=rate)
    file = io.BytesIO()
    run(model, loss_fn, head, body, batches, device, file)
    file.seek(0)
    return run(model, loss_fn, head, body, batches, device, file, resume=True)
