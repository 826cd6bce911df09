import torch
from accelerate import Accelerator


def train(body, head, data):
    acc = Accelerator(mixed_precision="fp16")
    one = torch.optim.AdamW(body.parameters())
    two = torch.optim.SGD(head.parameters(), lr=0.1)
    body, head, one, two = acc.prepare(body, head, one, two)
    for x, y in data:
        one.zero_grad()
        two.zero_grad()
        acc.backward((head(body(x)) - y).square().mean())
        one.step()
        two.step()  # expect: AMP605


class Runner:
    def __init__(self, body, head, args):
        self.acc = Accelerator(mixed_precision=args.precision)
        self.body, self.head = self.acc.prepare(body, head)
        self.one = self.acc.prepare(torch.optim.AdamW(body.parameters()))
        self.two = self.acc.prepare(torch.optim.AdamW(head.parameters()))

    def step(self, x, y, train_head):
        self.acc.backward((self.head(self.body(x)) - y).square().mean())
        self.one.step()
        if train_head:
            self.two.step()  # expect: AMP605 likely
