"""A helper steps the optimizer by the scaler where it has one, and else by itself: there is a state to keep."""

import torch


def one_step(model, inputs, optimizer, scaler):
    optimizer.zero_grad()
    if scaler is None:
        model(inputs).mean().backward()
        optimizer.step()
        return
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(inputs).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def main(model, loader, amp):
    scaler = torch.amp.GradScaler("cuda") if amp else None
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.load_state_dict(torch.load("last.pth")["optimizer"])
    for _ in range(3):
        for inputs in loader:
            one_step(model, inputs, optimizer, scaler)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pth")  # expect: AMP302
