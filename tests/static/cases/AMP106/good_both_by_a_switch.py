"""Training and evaluation have each a way inside autocast and one outside, and one switch chooses."""

import torch


def train(model, loss_fn, optimizer, loader, val_loader, use_amp):
    scaler = torch.amp.GradScaler("cuda") if use_amp else None
    losses = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        if use_amp:
            with torch.autocast("cuda"):
                loss = loss_fn(model(inputs.cuda()), targets.cuda())
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss = loss_fn(model(inputs.cuda()), targets.cuda())
            loss.backward()
            optimizer.step()
        if len(losses) % 100 == 0:
            model.eval()
            with torch.no_grad():
                for inputs, targets in val_loader:
                    if use_amp:
                        with torch.autocast("cuda"):
                            outputs = model(inputs.cuda())
                    else:
                        outputs = model(inputs.cuda())
                    losses.append(loss_fn(outputs, targets.cuda()))
            model.train()
