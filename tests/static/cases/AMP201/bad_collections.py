"""A clip of gradients of which only some are unscaled: the optimizers are written out."""

import torch


def one_is_left_out(encoder, head, batches):
    scaler = torch.amp.GradScaler("cuda")
    first = torch.optim.SGD(encoder.parameters(), lr=0.1)
    second = torch.optim.SGD(head.parameters(), lr=0.1)
    for batch in batches:
        for each in [first, second]:
            each.zero_grad()
        scaler.scale(head(encoder(batch))).backward()
        scaler.unscale_(first)
        for model in (encoder, head):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)  # expect: AMP201
        for each in [first, second]:
            scaler.step(each)
        scaler.update()
