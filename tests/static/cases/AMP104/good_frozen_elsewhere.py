"""The teacher needs no gradients, and another place says so: the constructor, who calls, or a function that is called."""

import copy

import torch


def frozen(network):
    for p in network.parameters():
        p.requires_grad = False


class Teaching:
    def __init__(self, student):
        self.student = student
        self.teacher = copy.deepcopy(student).requires_grad_(False)

    def loss(self, loss_fn, inputs):
        with torch.autocast("cuda"):
            before = self.teacher(inputs)
            with torch.no_grad():
                for old, new in zip(self.teacher.parameters(), self.student.parameters()):
                    old.mul_(0.99).add_(new, alpha=0.01)
            return loss_fn(self.student(inputs), before, self.teacher(inputs))


class Helped:
    def __init__(self, student, teacher):
        self.student, self.teacher = student, teacher
        frozen(self.teacher)

    def loss(self, loss_fn, inputs):
        with torch.autocast("cuda"):
            before = self.teacher(inputs)
            with torch.no_grad():
                for old, new in zip(self.teacher.parameters(), self.student.parameters()):
                    old.mul_(0.99).add_(new, alpha=0.01)
            return loss_fn(self.student(inputs), before, self.teacher(inputs))


def averaged(student, teacher, loss_fn, inputs):
    with torch.autocast("cuda"):
        before = teacher(inputs)
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters()):
                old.mul_(0.99).add_(new, alpha=0.01)
        return loss_fn(student(inputs), before, teacher(inputs))


def main(student, loss_fn, batches):
    teacher = copy.deepcopy(student)
    teacher.requires_grad_(False)
    return [averaged(student, teacher, loss_fn, inputs) for inputs in batches]
