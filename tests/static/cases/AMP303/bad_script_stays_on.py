import argparse

import torch
from torch.amp import GradScaler

parser = argparse.ArgumentParser()
parser.add_argument("--no_autocast", action="store_false", default=True)
args = parser.parse_args()


def train(loader, model, criterion, optimizer, scaler):
    for inputs, targets in loader:
        with torch.autocast("cuda", enabled=args.no_autocast):
            loss = criterion(model(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


if __name__ == "__main__":
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = GradScaler("cuda")  # expect: AMP303 likely
    for _ in range(10):
        train(torch.load("batches.pt"), model, torch.nn.L1Loss(), optimizer, scaler)
