import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    context = torch.autocast(device, dtype=torch.bfloat16)
    for inputs, targets in batches:
        with context:
            loss = loss_fn(model(inputs), targets)
        (loss / 1).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
