"""A limit that a caller scales by something of its own."""

import torch


def clip_gradients(model, limit, scale=1.0):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit * scale)  # expect: AMP201


def train(model, optimizer, batches, image_scale):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        clip_gradients(model, 1.0, scale=image_scale)
        scaler.step(optimizer)
        scaler.update()
        print(scaler.get_scale())
