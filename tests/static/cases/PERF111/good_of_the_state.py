"""A state that is kept now and then, and the scale of another object's state."""

import torch


class Zoom:
    def state_dict(self):
        return {"scale": 2.0}


def train(model, criterion, optimizer, loader, writer, every):
    scaler = torch.amp.GradScaler("cuda")
    zoom = Zoom()
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        writer.add_scalar("zoom", zoom.state_dict()["scale"])
        if step % every == 0:
            torch.save({"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}, "last.pt")
            writer.add_scalar("scale", scaler.state_dict()["scale"])
