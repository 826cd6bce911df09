"""A network is frozen in the file; it is not the one whose weights are overwritten."""

import torch


def perceptual(network):
    for p in network.parameters():
        p.requires_grad = False
    return network


class Both:
    def __init__(self, student, teacher, features):
        self.student, self.teacher = student, teacher
        self.features = features.requires_grad_(False)
        self.measure = perceptual(features)

    def loss(self, loss_fn, inputs):
        with torch.autocast("cuda"):
            before = self.teacher(inputs)
            with torch.no_grad():
                for old, new in zip(self.teacher.parameters(), self.student.parameters()):  # expect: AMP104 likely
                    old.mul_(0.99).add_(new, alpha=0.01)
            return loss_fn(self.student(inputs), before, self.teacher(inputs), self.measure(inputs))
