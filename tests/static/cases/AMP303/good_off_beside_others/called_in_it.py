import torch


def encode(model, inputs):
    with torch.autocast("cuda"):
        return model(inputs)


def train(model, decoder, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda", enabled=False):
            loss = loss_fn(decoder(encode(model, inputs).float()), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
