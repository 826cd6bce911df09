from amp import make_scaler
from keeping import keep
from resuming import resume


def main(model, optimizer, batches, cfg):
    scaler = make_scaler(cfg)
    resume(cfg.path, model, optimizer, scaler)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
    keep(cfg.path, model, optimizer, scaler)
