import torch


class Unit:
    def __init__(self, module, compute_loss):
        self.module = module
        self.compute_loss = compute_loss
        self.grad_scaler = torch.amp.GradScaler("cuda")

    def forward_and_backward(self, state, data):
        with torch.autocast("cuda", dtype=torch.float16):
            loss, outputs = self.compute_loss(state, data)
        grad_scaler = self.grad_scaler
        if grad_scaler:
            loss = grad_scaler.scale(loss)
        loss.backward()
        return loss, outputs  # expect: AMP204 likely


def step(model, loss_fn, batch, scaler: torch.amp.GradScaler):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(batch))
    loss = scaler.scale(loss)
    loss.backward()
    return loss  # expect: AMP204 likely
