import torch
from resuming import take_up


def main(model, optimizer, schedule, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    turn = take_up(path, model, optimizer, schedule)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
        turn += 1
    kept = {"weights": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
    kept["scaler"] = scaler.state_dict()
    kept["turn"] = turn
    torch.save(kept, path)
