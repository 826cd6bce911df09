import torch


def train(model, loss_fn, optimizer, scaler, batches, device):
    layers = list(model.children())
    first = torch.optim.SGD(layers[0].parameters(), lr=0.05)
    second = torch.optim.SGD([p for layer in layers[1:] for p in layer.parameters()], lr=0.05)
    for inputs, targets in batches:
        first.zero_grad(set_to_none=True)
        second.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(first)
        scaler.step(second)
