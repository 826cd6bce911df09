"""An evaluation makes the model half in place: the next epoch trains half parameters."""

import torch


def train_epoch(model, optimizer, scaler, batches):
    model.train()
    for inputs in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(inputs).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


@torch.no_grad()
def evaluate(model, batches, options):
    model.eval()
    if options.half:
        model.half()  # expect: AMP401 likely
    return sum(model(inputs.half() if options.half else inputs).mean() for inputs in batches)


def fit(model, optimizer, batches, held_out, options):
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(options.epochs):
        train_epoch(model, optimizer, scaler, batches)
        print(evaluate(model, held_out, options))
