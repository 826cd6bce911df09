from torch import nn
from torch.cuda.amp import GradScaler, autocast


class Trainer(nn.Module):
    def __init__(self, model, optimizer, limit=None, amp=False):
        super().__init__()
        self.model = model
        self.optimizer = optimizer
        self.limit = limit
        self.scaler = GradScaler(enabled=amp)

    def forward(self, x):
        with autocast():
            loss = self.model(x)
        return self.scaler.scale(loss)

    def before_update(self):
        self.scaler.unscale_(self.optimizer)

    def update(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), self.limit)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
