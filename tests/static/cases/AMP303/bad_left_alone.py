"""A region that stays on where a setting turns the scaler off."""

from torch.cuda.amp import GradScaler, autocast


def train(model, loader, criterion, optimizer, args):
    scaler = GradScaler(enabled=args.fp16)  # expect: AMP303 likely
    for images, labels in loader:
        optimizer.zero_grad()
        with autocast():
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
