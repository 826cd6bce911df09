import torch


class Agent(torch.nn.Module):
    """Its codes are held still for a while: the gradients of the others are what the step uses."""

    def __init__(self, frozen_for):
        super().__init__()
        self.codes = torch.nn.Parameter(torch.randn(8, 4))
        self.net = torch.nn.Linear(4, 8)
        self.optimizer = torch.optim.AdamW(self.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.frozen_for = frozen_for
        self.updates = 0

    def update(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = (self.net(batch) @ self.codes).mean()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        if self.updates < self.frozen_for:
            self.codes.grad.zero_()
            self.net.bias.grad = None
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.updates += 1
