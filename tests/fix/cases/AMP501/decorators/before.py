import torch
from torch.cuda.amp import custom_bwd, custom_fwd


class Double(torch.autograd.Function):
    @staticmethod
    @custom_fwd
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    @custom_bwd
    def backward(ctx, gradient):
        return 2 * gradient


class Triple(torch.autograd.Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x):
        return 3 * x

    backward = staticmethod(torch.cuda.amp.custom_bwd(lambda ctx, gradient: 3 * gradient))


@torch.cpu.amp.autocast(dtype=torch.float16)
def forward(model, inputs):
    return model(inputs)


def train(model, loss_fn, optimizer, scaler, batches, device):
    for inputs, targets in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_fn(Triple.apply(Double.apply(forward(model, inputs).float())), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
