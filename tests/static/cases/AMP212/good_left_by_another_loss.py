"""What a loss leaves in another network is zeroed, or is part of what that one is trained by."""

import contextlib

import torch


def zeroed_before_its_own(restorer, judge, loss_fn, pairs):
    restoring = torch.optim.Adam(restorer.parameters())
    judging = torch.optim.Adam(judge.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for damaged, clean in pairs:
        with torch.autocast("cuda", dtype=torch.float16):
            restored = restorer(damaged)
            first = loss_fn(judge(restored), True)
        scaler.scale(first).backward()
        scaler.step(restoring)
        restoring.zero_grad()
        judging.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            second = loss_fn(judge(clean), True) + loss_fn(judge(restored.detach()), False)
        scaler.scale(second).backward()
        scaler.step(judging)
        scaler.update()


def one_after_the_other(encoder, head, loss_fn, batches):
    """The head works on what the encoder made, and both are trained by one loss."""
    of_encoder = torch.optim.Adam(encoder.parameters())
    of_head = torch.optim.Adam(head.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        of_encoder.zero_grad()
        of_head.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(of_encoder)
        scaler.step(of_head)
        scaler.update()


def without_gradients(maker, critic, batches):
    of_maker = torch.optim.Adam(maker.parameters())
    of_critic = torch.optim.Adam(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            with torch.no_grad():
                made = maker(noise)
            loss = critic(made).mean() - critic(real).mean()
        scaler.scale(loss).backward()
        scaler.step(of_critic)
        of_critic.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = -critic(maker(noise)).mean()
        scaler.scale(loss).backward()
        scaler.step(of_maker)
        of_maker.zero_grad()
        of_critic.zero_grad()
        scaler.update()


def frozen_for_a_while(maker, judge, batches):
    of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
    of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for z, real in batches:
        for p in judge.parameters():
            p.requires_grad_(False)
        with torch.autocast("cuda", dtype=torch.float16):
            fake = maker(z)
            g_loss = -judge(fake).mean()
        scaler.scale(g_loss).backward()
        scaler.step(of_maker)
        of_maker.zero_grad()
        for p in judge.parameters():
            p.requires_grad_(True)
        with torch.autocast("cuda", dtype=torch.float16):
            d_loss = judge(fake.detach()).mean() - judge(real).mean()
        scaler.scale(d_loss).backward()
        scaler.step(of_judge)
        of_judge.zero_grad()
        scaler.update()


def set_requires_grad(nets, flag):
    for net in nets:
        for p in net.parameters():
            p.requires_grad = flag


def frozen_by_a_function(maker, judge, batches):
    of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
    of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for z, real in batches:
        set_requires_grad([judge], False)
        with torch.autocast("cuda", dtype=torch.float16):
            fake = maker(z)
            g_loss = -judge(fake).mean()
        scaler.scale(g_loss).backward()
        scaler.step(of_maker)
        of_maker.zero_grad()
        set_requires_grad([judge], True)
        with torch.autocast("cuda", dtype=torch.float16):
            d_loss = judge(fake.detach()).mean() - judge(real).mean()
        scaler.scale(d_loss).backward()
        scaler.step(of_judge)
        of_judge.zero_grad()
        scaler.update()


class Quiet:
    """Autograd is turned off by a stack, by a decorator, and by a context manager of the program."""

    def __init__(self, maker, judge):
        self.maker, self.judge = maker, judge
        self.of_maker = torch.optim.Adam(maker.parameters())
        self.of_judge = torch.optim.Adam(judge.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    @torch.inference_mode()
    def sampled(self, z):
        return self.maker(z)

    def stacked(self, z):
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            return self.maker(z)

    def managed(self, z):
        with without_graph():
            made = self.maker(z)
        return made

    def train(self, batches):
        for z, real in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                d_loss = self.judge(self.sampled(z)).mean() - self.judge(real).mean()
                d_loss = d_loss + self.judge(self.stacked(z)).mean() + self.judge(self.managed(z)).mean()
            self.scaler.scale(d_loss).backward()
            self.scaler.step(self.of_judge)
            self.of_judge.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                g_loss = -self.judge(self.maker(z)).mean()
            self.scaler.scale(g_loss).backward()
            self.scaler.step(self.of_maker)
            self.of_maker.zero_grad()
            self.of_judge.zero_grad()
            self.scaler.update()


@contextlib.contextmanager
def without_graph():
    with torch.no_grad():
        yield


def frozen_two_calls_away(maker, judge, batches):
    of_maker = torch.optim.SGD(maker.parameters(), lr=0.1)
    of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    switch = Switch(judge)
    for z, real in batches:
        switch.off()
        with torch.autocast("cuda", dtype=torch.float16):
            fake = maker(z)
            g_loss = -judge(fake).mean()
        scaler.scale(g_loss).backward()
        scaler.step(of_maker)
        of_maker.zero_grad()
        switch.on()
        with torch.autocast("cuda", dtype=torch.float16):
            d_loss = judge(fake.detach()).mean() - judge(real).mean()
        scaler.scale(d_loss).backward()
        scaler.step(of_judge)
        of_judge.zero_grad()
        scaler.update()


class Switch:
    def __init__(self, net):
        self.net = net

    def off(self):
        self._put(False)

    def on(self):
        self._put(True)

    def _put(self, flag):
        for p in self.net.parameters():
            p.requires_grad = flag
