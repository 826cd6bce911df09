"""Gradients of some parameters are dropped before the step: these parameters stay as they are."""


def drop_the_head(epoch, model, frozen_for):
    if epoch >= frozen_for:
        return
    for name, p in model.named_parameters():
        if "head" in name:
            p.grad = None


def drop_all_but_the_head(model):
    for name, p in model.named_parameters():
        if "head" in name:
            continue
        p.grad.zero_()


def train(model, optimizer, scaler, batches, epochs, frozen_for):
    for epoch in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            scaler.scale(model(batch)).backward()
            drop_the_head(epoch, model, frozen_for)
            scaler.step(optimizer)
            scaler.update()


def warm_up(model, optimizer, scaler, batches):
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        drop_all_but_the_head(model)
        scaler.step(optimizer)
        scaler.update()
