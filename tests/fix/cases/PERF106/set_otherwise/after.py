import torch
from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(batches, batch_size=None, pin_memory=True)
    for batch in loader:
        inputs, targets = (each.to( device, non_blocking=True ) for each in batch)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device.type, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        last = batch[0].to(
            device,  # there
            non_blocking=True,
        )
    return last.sum().item()
