"""The weights of another model, or before every forward, or behind all of them."""

import torch


class Average:
    def __init__(self, model, teacher):
        self.model = model
        self.teacher = teacher

    def follow(self):
        for mine, theirs in zip(self.teacher.parameters(), self.model.parameters()):
            mine.data.lerp_(theirs.data, 0.1)

    def load(self, state):
        self.teacher.load_state_dict(state)


def consistency(model, teacher, average, inputs, state):
    with torch.autocast("cuda", dtype=torch.float16):
        average.load(state)
        outputs = model(inputs)
        targets = teacher(inputs)
        average.follow()
        again = model(inputs)
        return (outputs - targets).pow(2).mean() + again.mean()


def train(model, teacher, batches, state):
    average = Average(model, teacher)
    for inputs in batches:
        consistency(model, teacher, average, inputs, state).backward()
