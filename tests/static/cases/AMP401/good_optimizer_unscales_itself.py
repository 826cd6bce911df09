"""The optimizer keeps float32 copies and takes the scale itself: the scaler checks for inf and unscales nothing."""

import torch


class WithCopies(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})
        self._step_supports_amp_scaling = True
        self.copies = [[p.float() for p in group["params"]] for group in self.param_groups]

    @torch.no_grad()
    def step(self, closure=None, grad_scaler=None):
        for group, copies in zip(self.param_groups, self.copies, strict=True):
            for parameter, copy in zip(group["params"], copies, strict=True):
                copy.sub_(parameter.grad.float() / grad_scaler.get_scale())
                parameter.copy_(copy)


class Decaying(WithCopies):
    pass


def train(model, batches):
    scaler = torch.amp.GradScaler("cuda")
    model.half()
    optimizer = Decaying(model.parameters())
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(model(batch)).backward()
        scaler.step(optimizer)
        scaler.update()
