"""A method or a function of the project loads other weights into the model of the region."""

import torch


class Average:
    def __init__(self, model):
        self.model = model
        self.kept = {name: value.clone() for name, value in model.state_dict().items()}

    def put_in(self):
        self.before = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(self.kept)

    def take_out(self):
        self.model.load_state_dict(self.before)


def overwrite(target, source):
    for mine, theirs in zip(target.parameters(), source.parameters()):
        mine.data.copy_(theirs.data)


def consistency(model, average, inputs):
    with torch.autocast("cuda", dtype=torch.float16):
        outputs = model(inputs)
        average.put_in()  # expect: AMP104 likely
        with torch.no_grad():
            targets = model(inputs)
        average.take_out()
        return (outputs - targets).pow(2).mean()


class Trainer:
    def __init__(self, net, other):
        self.net = net
        self.other = other
        self.average = Average(self.net)

    def step(self, inputs):
        with torch.autocast("cuda", dtype=torch.float16):
            before = self.net(inputs)
            overwrite(self.net, self.other)  # expect: AMP104 likely
            return before - self.net(inputs)


def train(model, batches):
    average = Average(model)
    for inputs in batches:
        consistency(model, average, inputs).backward()
