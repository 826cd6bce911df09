"""What a mask does to a tensor."""

import torch


def fill(tensor, mask, value):
    if tensor.dim() != mask.dim():
        raise ValueError("as many dimensions as the tensor has")
    return tensor.masked_fill(~mask, value)


def lowest(dtype):
    return torch.finfo(dtype).min


def fill_lowest(tensor, mask):
    return tensor.masked_fill(~mask, lowest(tensor.dtype))
