"""The body of an abstract method runs where a class below asks for it."""

from abc import ABC, abstractmethod

import torch


class Base(ABC):
    @abstractmethod
    def settings(self):
        return {"rate": 1}


class Model(Base):
    def settings(self):
        return {"rate": 2, **super().settings()}


def build(inputs):
    with torch.autocast("cuda"):
        return Model().settings()["depth"]  # expect: KEY101
