from dataclasses import asdict, dataclass

import torch


@dataclass
class Snapshot:
    model: dict
    optimizer: dict
    epoch: int


def train(model, optimizer, batches, path):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(10):
        for batch in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(batch).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        snapshot = Snapshot(model.state_dict(), optimizer.state_dict(), epoch)  # expect: AMP302 likely
        torch.save(asdict(snapshot), path)
        torch.save((epoch, model.state_dict(), optimizer.state_dict()), path)  # expect: AMP302 likely
        torch.save([model.state_dict(), optimizer.state_dict()], path)  # expect: AMP302 likely
