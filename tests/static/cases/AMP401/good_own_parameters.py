import torch


class Control(torch.nn.Module):
    """Sits beside a model, which it does not register, and trains parameters of its own."""

    def __init__(self, model):
        super().__init__()
        self.beside = [model]
        self.scale = torch.nn.Parameter(torch.zeros(4))

    def trained(self):
        return self.parameters()


def train(model_of_size, batches, loss_fn, device):
    model = model_of_size(4)
    model.half()
    control = Control(model)
    optimizer = torch.optim.AdamW(control.trained(), 1e-3)
    scaler = torch.amp.GradScaler(device)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs) * control.scale, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def train_by_groups(model_of_size, batches, loss_fn, device):
    model = model_of_size(4).to(device, torch.float16)
    control = Control(model)
    optimizer = torch.optim.SGD(control.trained(), lr=1e-3)
    scaler = torch.amp.GradScaler(device)
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            loss = loss_fn(model(inputs) * control.scale, targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
