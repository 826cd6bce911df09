import torch
from wrapper import LossScaler


def main(config, model, criterion, optimizer, batches):
    loss_scaler = LossScaler(grad_scaler_enabled=config.AMP_ENABLE)
    train_one_epoch(config, model, criterion, optimizer, batches, loss_scaler)


def train_one_epoch(config, model, criterion, optimizer, batches, loss_scaler):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=config.AMP_ENABLE):
            loss = criterion(model(inputs), targets)
        loss_scaler(loss, optimizer)
