import torch


def off():
    return torch.amp.GradScaler("cuda", enabled=False)  # expect: AMP303 likely


class Precision:
    def scaler(self, cfg):
        return torch.amp.GradScaler("cuda", enabled=cfg.use_amp)  # expect: AMP303 likely

    def half(self, cfg):
        return torch.autocast("cuda", dtype=torch.float16, enabled=cfg.mixed_half)


def region():
    return torch.autocast("cuda", dtype=torch.float16)
