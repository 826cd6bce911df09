from torch.utils.data import DataLoader


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = DataLoader(
        batches,
        batch_size=None,
        num_workers=0,  # the data is in memory
        prefetch_factor=4,
        persistent_workers=True,
    )
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
