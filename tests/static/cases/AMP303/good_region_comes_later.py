import torch


def train(model, batches, optimizer, warmup, epochs):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for inputs, targets in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda", enabled=epoch >= warmup):
                loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
