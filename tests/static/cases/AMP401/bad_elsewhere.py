"""The model is made half in one method and stepped in another, or in a function that returns it."""

import torch


class Distiller:
    def __init__(self, teacher, student):
        self.teacher = teacher.cuda().half().eval()
        self.student = student.cuda().half()  # expect: AMP401
        self.optimizer = torch.optim.AdamW(self.student.parameters(), 1e-3)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, inputs):
        with torch.autocast("cuda"):
            loss = (self.student(inputs) - self.teacher(inputs)).pow(2).mean()
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Late:
    def __init__(self, net):
        self.net = net
        self.net.half()  # expect: AMP401
        self.scaler = torch.amp.GradScaler("cuda")

    def prepare(self):
        self.optimizer = torch.optim.AdamW(self.net.parameters(), 1e-3)

    def step(self, inputs):
        with torch.autocast("cuda"):
            loss = self.net(inputs).pow(2).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


def build():
    model = torch.nn.Linear(4, 4).cuda().half()  # expect: AMP401
    return model


def train(batches):
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for inputs in batches:
        with torch.autocast("cuda"):
            loss = model(inputs).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
