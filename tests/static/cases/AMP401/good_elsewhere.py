"""The other network's optimizer steps, or another method makes the model float again, or nobody tells whose it is."""

import torch


class Distiller:
    def __init__(self, teacher, student):
        self.teacher = teacher.cuda().half()
        self.student = student.cuda()
        self.optimizer = torch.optim.AdamW(self.student.parameters(), 1e-3)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, inputs):
        with torch.autocast("cuda"):
            loss = (self.student(inputs) - self.teacher(inputs)).pow(2).mean()
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Undone:
    def __init__(self, net):
        self.net = net.half()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), 1e-3)
        self.scaler = torch.amp.GradScaler("cuda")

    def begin(self):
        self.net.float()

    def step(self, inputs):
        with torch.autocast("cuda"):
            loss = self.net(inputs).pow(2).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Exported:
    def __init__(self, net, optimizer):
        self.net = net
        self.optimizer = optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def export(self):
        self.net.half()
        return self.net

    def step(self, inputs):
        with torch.autocast("cuda"):
            loss = self.net(inputs).pow(2).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def build():
    teacher = torch.nn.Linear(4, 4).cuda().half()
    return teacher


def floated():
    model = torch.nn.Linear(4, 4).cuda().half()
    return model


def train(batches, student):
    teacher = build()
    model = floated()
    model.float()
    optimizer = torch.optim.AdamW([*student.parameters(), *model.parameters()], 1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        with torch.autocast("cuda"):
            loss = (student(inputs) - teacher(inputs)).pow(2).mean() + model(inputs).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
