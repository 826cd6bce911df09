import torch
from engine import Engine
from stepping import Stepper


def main(model, optimizer, batches):
    engine = Engine(Stepper())
    engine.run(model, optimizer, batches)
