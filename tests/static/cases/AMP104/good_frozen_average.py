"""The teacher needs no gradients: none of its casts is kept."""

import torch


def moving_average(student, teacher, loss_fn, inputs):
    teacher.requires_grad_(False)
    with torch.autocast("cuda"):
        before = teacher(inputs)
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters()):
                old.mul_(0.99).add_(new, alpha=0.01)
        return loss_fn(student(inputs), before, teacher(inputs))
