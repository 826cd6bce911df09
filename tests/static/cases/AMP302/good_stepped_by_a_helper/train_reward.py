import torch


class Reward(torch.nn.Linear):
    pass


def train_epoch(model, loader, optimizer, scaler):
    for inputs, targets in loader:
        with torch.autocast("cuda"):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def main(loader):
    model = Reward(3, 1).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(3):
        train_epoch(model, loader, optimizer, scaler)
