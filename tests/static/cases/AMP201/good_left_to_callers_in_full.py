from torch import nn
from torch.cuda.amp import GradScaler, autocast


class Trainer(nn.Module):
    """Clips where there is no scaler."""

    def __init__(self, model, optimizer, limit=None, amp=False):
        super().__init__()
        self.model = model
        self.optimizer = optimizer
        self.limit = limit
        self.scaler = GradScaler() if amp else None

    def forward(self, x):
        with autocast(enabled=self.scaler is not None):
            loss = self.model(x)
        return self.scaler.scale(loss) if self.scaler is not None else loss

    def update(self):
        if self.scaler is None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.limit)
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()
