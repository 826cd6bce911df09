"""Other weights are put into a model between two forwards of one region."""

import copy

import torch
from torch_ema import ExponentialMovingAverage


def consistency(student, shadow, loss_fn, inputs):
    with torch.autocast("cuda"):
        predicted = student(inputs)
        student.load_state_dict(shadow)  # expect: AMP104 likely
        with torch.no_grad():
            wanted = student(inputs)
        return loss_fn(predicted, wanted)


def teacher_from_average(net, inputs):
    average = ExponentialMovingAverage(net.parameters(), decay=0.99)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        predicted = net(inputs)
        with average.average_parameters():  # expect: AMP104
            wanted = net(inputs)
    return predicted, wanted


class EMA:
    def __init__(self, model, decay):
        self.model = model
        self.decay = decay
        self.shadow = copy.deepcopy(model.state_dict())

    def apply_shadow(self):
        for name, weight in self.model.named_parameters():
            weight.data = self.shadow[name]


class Trainer:
    def __init__(self, model):
        self.model = model
        self.ema = EMA(self.model, 0.999)

    def step(self, inputs):
        with torch.autocast("cuda"):
            predicted = self.model(inputs)
            self.ema.apply_shadow()  # expect: AMP104
            wanted = self.model(inputs)
        return predicted, wanted


def moving_average(student, teacher, loss_fn, inputs):
    with torch.autocast("cuda"):
        before = teacher(inputs)
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters()):  # expect: AMP104 likely
                old.mul_(0.99).add_(new, alpha=0.01)
        return loss_fn(student(inputs), before, teacher(inputs))
