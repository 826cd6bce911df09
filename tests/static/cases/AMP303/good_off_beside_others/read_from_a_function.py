import torch


def encode(model, inputs):
    with torch.autocast("cuda"):
        return model(inputs)


def step(features, targets, decoder, loss_fn, optimizer, scaler):
    with torch.autocast("cuda", enabled=False):
        loss = loss_fn(decoder(features.float()), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def train(model, decoder, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        features = encode(model, inputs)
        step(features, targets, decoder, loss_fn, optimizer, scaler)
