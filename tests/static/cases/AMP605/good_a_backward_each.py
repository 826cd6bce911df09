import torch
from accelerate import Accelerator
from lightning.pytorch import LightningModule, Trainer


def in_turns(generator, critic, data):
    acc = Accelerator(mixed_precision="fp16")
    one = torch.optim.AdamW(generator.parameters())
    two = torch.optim.AdamW(critic.parameters())
    generator, critic, one, two = acc.prepare(generator, critic, one, two)
    for x in data:
        acc.backward(critic(generator(x)).mean())
        one.step()
        acc.backward(critic(x).mean())
        two.step()


def with_a_schedule(net, data):
    acc = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(opt, 3)
    net, opt, schedule = acc.prepare(net, opt, schedule)
    for x in data:
        acc.backward(net(x).mean())
        opt.step()
        schedule.step()


def one_or_the_other(net, data, first):
    acc = Accelerator(mixed_precision="fp16")
    net, one, two = acc.prepare(net, torch.optim.SGD(net.parameters(), lr=1), torch.optim.Adam(net.parameters()))
    for x in data:
        acc.backward(net(x).mean())
        if first:
            one.step()
        else:
            two.step()


class Manual(LightningModule):
    def __init__(self, body, head):
        super().__init__()
        self.body, self.head = body, head
        self.automatic_optimization = False

    def training_step(self, batch, index):
        one, two = self.optimizers()
        self.manual_backward(self.body(batch).mean())
        one.step()
        self.manual_backward(self.head(batch).mean())
        two.step()


def main(body, head, data):
    Trainer(precision="16-mixed").fit(Manual(body, head), data)


class NoSchedule:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self):
        pass

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]


def schedule_for(optimizer, kind):
    if kind == "none":
        return NoSchedule(optimizer)
    return torch.optim.lr_scheduler.StepLR(optimizer, 3)


def with_a_schedule_of_its_own(net, data, kind):
    acc = Accelerator(mixed_precision="fp16")
    opt = torch.optim.AdamW(net.parameters())
    rate = schedule_for(opt, kind)
    net, opt, rate = acc.prepare(net, opt, rate)
    for x in data:
        acc.backward(net(x).mean())
        opt.step()
        rate.step()
