"""Weights that change where no cast of them is kept."""

import torch


def used_once(student, teacher, loss_fn, inputs):
    with torch.autocast("cuda"):
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters()):
                old.mul_(0.99).add_(new, alpha=0.01)
        return loss_fn(student(inputs), teacher(inputs))


def read_only(student, teacher, loss_fn, inputs):
    with torch.autocast("cuda"):
        before = student(inputs)
        distance = 0.0
        for old, new in zip(teacher.parameters(), student.parameters()):
            distance += (old - new).pow(2).sum() / new.norm()
        return loss_fn(before, student(inputs)) + distance
