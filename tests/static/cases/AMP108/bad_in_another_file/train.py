import torch

from losses import Contrast, entropy, softened


def train(model, optimizer, scaler, batches):
    criterion = Contrast()
    for images, labels in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            features, logits = model(images)
            loss = criterion(features, labels) + 0.1 * entropy(logits) + softened(logits, labels, 4.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
