import deform_cuda
import torch
from attention import Deform
from torch.autograd import Function


class Reference(Function):
    @staticmethod
    def forward(ctx, value, places):
        ctx.save_for_backward(value, places)
        return deform_cuda.forward(value, places)

    @staticmethod
    def backward(ctx, gradient):
        return deform_cuda.backward(*ctx.saved_tensors, gradient)


def test_in_half(dtype=torch.float16):
    value, places = torch.rand(2, 3, dtype=dtype), torch.rand(2, 3, dtype=dtype)
    assert torch.equal(Deform.apply(value, places), Reference.apply(value, places))
