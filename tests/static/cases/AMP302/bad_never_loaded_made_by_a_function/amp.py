from torch.amp import GradScaler


def make_scaler(cfg):
    return GradScaler("cuda", enabled=cfg.fp16)
