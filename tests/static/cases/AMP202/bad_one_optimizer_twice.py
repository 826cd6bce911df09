"""One optimizer under two names, and a test that does not tell."""

import torch


def unscale(scaler, body, head):
    scaler.unscale_(body)
    if head is not None:
        scaler.unscale_(head)  # expect: AMP202


def handed_in_twice(model, batches):
    scaler, optimizer = torch.amp.GradScaler("cuda"), torch.optim.AdamW(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        unscale(scaler, optimizer, optimizer)
        scaler.step(optimizer)
        scaler.update()


def turned_round(model, batches):
    scaler, body = torch.amp.GradScaler("cuda"), torch.optim.AdamW(model.parameters())
    head = body
    for batch in batches:
        body.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.unscale_(body)
        if head is body:
            scaler.unscale_(head)  # expect: AMP202
        scaler.step(body)
        scaler.update()
