from torch.utils import data


def train(model, loss_fn, optimizer, scaler, batches, device):
    loader = data.DataLoader(batches, batch_size=None)
    for inputs, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
