"""A filter, a part of a model, a block that has one layer, arguments that are not written out."""

from functools import partial

from torch import nn
from torchao.float8 import convert_to_float8_training


def keep(module, name, left_out):
    return name not in left_out


def filtered(net):
    return convert_to_float8_training(net, module_filter_fn=partial(keep, left_out={"lm_head"}))


def body(net):
    convert_to_float8_training(net.model.layers)
    for block in net.blocks:
        convert_to_float8_training(block)
    convert_to_float8_training(net.blocks[0])


def one_layer():
    return convert_to_float8_training(nn.Sequential(nn.Linear(256, 256), nn.GELU()))


def from_settings(net, settings):
    return convert_to_float8_training(net, **settings)
