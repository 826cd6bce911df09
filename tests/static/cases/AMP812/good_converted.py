"""A filter chooses the layers, the configuration pads or emulates, the sizes fit, or one part alone is converted."""

import torch
from torch import nn
from torchao.float8 import Float8LinearConfig, convert_to_float8_training


def fits(module, name):
    return isinstance(module, nn.Linear) and module.in_features % 16 == 0 and module.out_features % 16 == 0


def filtered():
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 7))
    return convert_to_float8_training(model, module_filter_fn=fits)


def padded():
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 7))
    return convert_to_float8_training(model, config=Float8LinearConfig(pad_inner_dim=True))


def emulated():
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 7))
    config = Float8LinearConfig(emulate=True)
    return convert_to_float8_training(model, config=config)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Linear(64, 7)


def body_alone():
    net = Net()
    convert_to_float8_training(net.body)
    return net
