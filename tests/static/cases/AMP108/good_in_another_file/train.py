import torch

from losses import Contrast, entropy, smoothness, spread


def train(model, optimizer, scaler, batches):
    criterion = Contrast()
    for images, labels, weights in batches:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            features, logits = model(images)
            loss = criterion(features, labels) + 0.1 * entropy(logits.float()) + smoothness(weights)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def calibrate(model, batches):
    for images in batches:
        logits = model(images)
        print(spread(logits))
