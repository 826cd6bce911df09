import torch
from base import Backbone, Method


class Convolutional(Backbone):
    def __init__(self, body):
        self.body = body

    def features(self, x):
        with torch.autocast("cuda"):
            return {"features": self.body(x)}


def method(body):
    return Method(Convolutional(body))
