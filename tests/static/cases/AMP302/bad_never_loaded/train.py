import torch
from resuming import resume


def main(model, optimizer, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    resume(model, optimizer, path)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
    torch.save(state, path)
