import torch
from torch import nn


class LossScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, parameters, clip=None, need_update=True):
        self._scaler.scale(loss).backward()
        if not need_update:
            return None
        self._scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(parameters, clip) if clip is not None else None
        self._scaler.step(optimizer)
        self._scaler.update()
        return norm


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_scaler = LossScaler()
    optimizer.zero_grad()
    for it in range(8):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y) / 2
        closing = (it + 1) % 2 == 0
        loss_scaler(loss, optimizer, list(model.parameters()), clip=1.0, need_update=closing)
        if closing:
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
