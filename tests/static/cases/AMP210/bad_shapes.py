"""update() where no window ends."""

import torch


def before_the_step(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.update()  # expect: AMP210
        scaler.step(optimizer)


def on_every_micro_batch(model, optimizer, scaler, batches, window):
    for i, batch in enumerate(batches):
        scaler.scale(model(batch) / window).backward()
        if (i + 1) % window == 0:
            scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()  # expect: AMP210


def twice(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        scaler.update()  # expect: AMP210


def between_two_that_share_a_backward(encoder, head, batches):
    scaler = torch.amp.GradScaler("cuda")
    optim_a = torch.optim.SGD(encoder.parameters(), lr=0.1)
    optim_b = torch.optim.SGD(head.parameters(), lr=0.1)
    for batch in batches:
        optim_a.zero_grad()
        optim_b.zero_grad()
        scaler.scale(head(encoder(batch))).backward()
        scaler.step(optim_a)
        scaler.update()  # expect: AMP210
        scaler.step(optim_b)
        scaler.update()


def after_each_of_a_list(model, optimizers, scaler, batches):
    for batch in batches:
        scaler.scale(model(batch)).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
            scaler.update()  # expect: AMP210
        for optimizer in optimizers:
            optimizer.zero_grad()
