import torch


def train(model, perceptual_model, loss_fn, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            outputs = model(inputs)
            plain = loss_fn(outputs, targets)
        with torch.autocast("cuda", enabled=False):
            wanted = perceptual_model(targets)
        total = plain + loss_fn(outputs.mean(), wanted)
        scaler.scale(total).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
