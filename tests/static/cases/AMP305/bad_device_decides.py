"""No dtype is named, so the device decides: float16 where there is CUDA."""

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast(device_type=str(device)):  # expect: AMP305 likely
            outputs = model(inputs.to(device))
        loss = loss_fn(outputs, targets.to(device))
        loss.backward()
        optimizer.step()


def train_by_type(model, loss_fn, optimizer, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast(device.type):  # expect: AMP305 likely
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()


def train_as_configured(model, loss_fn, optimizer, batches, config):
    place = torch.device(config.get("device", "cuda") if torch.cuda.is_available() else "cpu")
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast(place.type):  # expect: AMP305 likely
            loss = loss_fn(model(inputs.to(place)), targets.to(place))
        loss.backward()
        optimizer.step()
