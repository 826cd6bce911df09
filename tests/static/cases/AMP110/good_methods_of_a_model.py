import torch


def update(model, batch, optimizer, scaler, criterion):
    with torch.autocast("cuda"):
        logits = model.initial_inference(batch.inputs)
        settings = model.describe(batch.inputs)
        sizes = batch.sizes.predict(batch.inputs)
        loss = criterion(logits, batch.targets)
    weight_loss = criterion(settings, batch.targets)
    size_loss = criterion(sizes, batch.targets)
    entropy = -(torch.log_softmax(logits.float(), dim=1) * batch.policy).sum(1)
    chances = torch.log_softmax(logits, dim=1)
    optimizer.zero_grad()
    scaler.scale(loss + weight_loss + size_loss + entropy.mean()).backward()
    scaler.step(optimizer)
    scaler.update()
    return chances
