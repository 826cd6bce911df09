import copy

import torch


def by_precision(model, optimizer, batches, precision):
    scaler = torch.amp.GradScaler("cuda") if precision == "amp" else None
    if precision == "fp16":
        model.half()
    for batch in batches:
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(model(batch)).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            model(batch).backward()
            optimizer.step()


def inputs(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch.half())).backward()
        scaler.step(optimizer)
        scaler.update()


def exported_afterwards(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    model.half()
    torch.save(model.state_dict(), "half.pt")


def back_again(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    model.half()
    model(batches[0])
    model.float()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def switched_off(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    model.half()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()


def a_copy_for_inference(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    fast = copy.deepcopy(model).cuda().half().eval()
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    return fast(batches[0].half())
