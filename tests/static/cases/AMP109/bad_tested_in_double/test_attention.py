import torch
from attention import Deform


def test_gradient():
    value, places = torch.rand(2, 3).double(), torch.rand(2, 3).double()
    assert torch.autograd.gradcheck(Deform.apply, (value, places))
    assert Deform.apply(value.double(), places) is not None
