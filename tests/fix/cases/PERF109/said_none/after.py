from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = DataLoader(
        batches,
        batch_size=None,
        num_workers=0,  # the data is in memory
    )
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
