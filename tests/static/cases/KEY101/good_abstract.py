"""What an abstract method returns is said by the classes that fill it in, some of them outside the project."""

import abc
from abc import ABC, abstractmethod

import torch


class Base(ABC):
    @abstractmethod
    def infer(self, inputs):
        """What a class is to give: at least the outputs."""
        outputs = {"outputs": None}
        return outputs

    @property
    @abstractmethod
    def limits(self):
        return {"low": 0}

    def synthesize(self, inputs):
        with torch.autocast("cuda"):
            found = self.infer(inputs)
        return found["outputs"], found["alignments"]

    def highest(self):
        return self.limits["high"]


class Between(Base):
    def show(self, inputs):
        return self.infer(inputs)["spectrum"]


class Model(Between):
    def infer(self, inputs):
        return {"outputs": inputs, "alignments": None, "spectrum": None}


class Handed(abc.ABC):
    @abc.abstractmethod
    def settings(self):
        return dict(rate=1)


def rate_of(handed: Handed):
    return handed.settings()["depth"]
