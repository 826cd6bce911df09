"""What `custom_bwd` reads is noted, though no decorator is above the forward."""

import torch
from torch.amp import custom_bwd, custom_fwd


class DecoratedByAssignment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2

    forward = staticmethod(custom_fwd(forward, device_type="cuda"))


class DecoratedAfterwards(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2


DecoratedAfterwards.forward = staticmethod(custom_fwd(DecoratedAfterwards.forward, device_type="cuda"))


def mixed(function):
    function.forward = staticmethod(custom_fwd(function.forward, device_type="cuda"))
    return function


@mixed
class DecoratedAsAWhole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2


class NotesItself(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx._dtype = torch.get_autocast_dtype("cuda")
        ctx._fwd_used_autocast = torch.is_autocast_enabled("cuda")
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2


class HandsItsContextOn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return HandsItsContextOn.run(ctx, x)

    @staticmethod
    @custom_fwd(device_type="cuda")
    def run(ctx, x):
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2


class SetsItsContextUp(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    @custom_fwd(device_type="cuda")
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2


class Base(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, upstream):
        return upstream * 2


class Below(Base):
    @staticmethod
    @custom_fwd(device_type="cuda")
    def forward(ctx, x):
        return x * 3


def train(model, optimizer, scaler, batches):
    for inputs, targets in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            outputs = Below.apply(SetsItsContextUp.apply(HandsItsContextOn.apply(model(inputs))))
            outputs = DecoratedAsAWhole.apply(DecoratedAfterwards.apply(DecoratedByAssignment.apply(outputs)))
            loss = torch.nn.functional.mse_loss(NotesItself.apply(outputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
