import torch


class Sharpness(torch.optim.Optimizer):
    """What it adds to the weights is the gradient by its norm: the scale is in both."""

    def __init__(self, params, rho):
        super().__init__(params, {"rho": rho})

    @torch.no_grad()
    def ascend(self):
        norm = torch.stack([p.grad.norm() for group in self.param_groups for p in group["params"]]).norm()
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad * (group["rho"] / (norm + 1e-12)))


def step(model, loss_fn, inputs, targets, optimizer, sharpness: Sharpness):
    scaler = torch.amp.GradScaler("cuda")
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    scaler.scale(loss).backward()
    sharpness.ascend()
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = loss_fn(model(inputs), targets)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
