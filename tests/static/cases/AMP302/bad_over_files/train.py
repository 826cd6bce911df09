from keeping import load_checkpoint, save_checkpoint
from torch.cuda.amp import GradScaler


def main(model, optimizer, batches, hps):
    epoch = load_checkpoint(model, optimizer, "last.pt")
    scaler = GradScaler(enabled=hps.fp16_run)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    save_checkpoint(model, optimizer, epoch + 1, "last.pt")
