"""Whole models that are converted without a filter: of the project, of a library, with a filter of None."""

import torch
from torch import nn
from torchao.float8 import Float8LinearConfig, convert_to_float8_training
from transformers import AutoModelForCausalLM


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(256, 256) for _ in range(4)])
        self.output = nn.Linear(256, 1024)

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.output(x)


def own():
    net = Decoder().cuda()
    return convert_to_float8_training(net, config=Float8LinearConfig())  # expect: AMP815 likely


def of_a_library(name):
    net = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    convert_to_float8_training(net, module_filter_fn=None)  # expect: AMP815 likely
    return net


class Trainer:
    def __init__(self, net):
        self.net = net
        convert_to_float8_training(self.net)  # expect: AMP815 likely
