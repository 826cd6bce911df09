"""Linear layers that torchao converts without a filter, and sizes that the device's float8 products refuse."""

import torch
from torch import nn
from torchao.float8 import Float8LinearConfig, convert_to_float8_training


class Classifier(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(512, 512), nn.ReLU())
        self.head = nn.Linear(512, 10)  # expect: AMP812 certain

    def forward(self, x):
        return self.head(self.body(x))


def build():
    model = Classifier().to("cuda", torch.bfloat16)
    convert_to_float8_training(model)
    return torch.compile(model)


def by_recipe():
    model = nn.Sequential(nn.Linear(100, 64), nn.ReLU(), nn.Linear(64, 64))  # expect: AMP812 certain
    return convert_to_float8_training(model, config=Float8LinearConfig.from_recipe_name("rowwise"))


def if_asked(args):
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 7))  # expect: AMP812 likely
    if args.float8:
        model = convert_to_float8_training(model)
    return model
