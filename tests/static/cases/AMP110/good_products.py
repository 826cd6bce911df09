"""Products that are cast, made of something else, or worked out by a helper that casts."""

import torch
import torch.nn.functional as F


def scores(first, second):
    return first.float() @ second.float().t()


def summed(first, second):
    return (first * second).sum(-1)


def contrast(model, optimizer, scaler, batches, weights):
    for images, texts in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            image_features, text_features = model(images, texts)
        labels = torch.arange(len(images), device=images.device)
        logits = image_features @ text_features.t()
        loss = F.cross_entropy(logits.float(), labels)
        loss = loss + F.cross_entropy(scores(image_features, text_features), labels)
        cast = scores(image_features, text_features)
        loss = loss + F.cross_entropy(cast, labels)
        promoted = image_features * weights
        loss = loss + F.cross_entropy(promoted, labels)
        products = summed(image_features, weights)
        loss = loss + F.cross_entropy(products, labels)
        wanted, image_features = labels, images
        loss = loss + F.cross_entropy(image_features, wanted)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
