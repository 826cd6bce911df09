"""Without a region in the project there is nothing to tell autocast."""

from torch.autograd import Function


class Projection(Function):
    @staticmethod
    def forward(ctx, inputs, weight):
        ctx.save_for_backward(inputs, weight)
        return inputs @ weight

    @staticmethod
    def backward(ctx, gradient):
        inputs, weight = ctx.saved_tensors
        return gradient @ weight.t(), inputs.t() @ gradient
