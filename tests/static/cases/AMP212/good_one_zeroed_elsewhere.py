"""Which of two optimizers is zeroed cannot be told, or the other one is zeroed through what it is part of."""

import torch


def by_parameters(encoder, head, batches, loss_fn):
    low = torch.optim.SGD(encoder.parameters(), lr=0.01)
    high = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        low.zero_grad()
        for parameter in head.parameters():
            parameter.grad = None
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(low)
        scaler.step(high)
        scaler.update()


def all_of_them(encoder, head, batches, loss_fn):
    low = torch.optim.SGD(encoder.parameters(), lr=0.01)
    high = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        for each in (low, high):
            each.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(low)
        scaler.step(high)
        scaler.update()


def one_by_the_model(encoder, head, batches, loss_fn):
    low = torch.optim.SGD(encoder.parameters(), lr=0.01)
    high = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        low.zero_grad()
        head.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(low)
        scaler.step(high)
        scaler.update()


class Both:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def zero_grad(self):
        self.low.zero_grad()
        self.high.zero_grad()


def together(encoder, head, batches, loss_fn):
    low = torch.optim.SGD(encoder.parameters(), lr=0.01)
    high = torch.optim.SGD(head.parameters(), lr=0.1)
    both = Both(low, high)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        both.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(low)
        scaler.step(high)
        scaler.update()


def by_a_library(encoder, head, batches, loss_fn, zero_grad):
    low = torch.optim.SGD(encoder.parameters(), lr=0.01)
    high = torch.optim.SGD(head.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in batches:
        low.zero_grad()
        zero_grad(high)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(head(encoder(inputs)), targets)
        scaler.scale(loss).backward()
        scaler.step(low)
        scaler.step(high)
        scaler.update()


def before_its_own_backward(maker, critic, batches, loss_fn):
    """What another optimizer's backward adds after a step is dropped at the start of the turn."""
    ours = torch.optim.AdamW(maker.parameters())
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = maker(noise)
            their_loss = critic(made.detach()).mean() - critic(real).mean()
        critic.zero_grad()
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(made))
        ours.zero_grad()
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        scaler.update()


def in_a_loop(maker, critic, optimizers, batches, loss_fn):
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = maker(noise)
            their_loss = critic(made.detach()).mean() - critic(real).mean()
        for each in optimizers.values():
            each.zero_grad()
        scaler.scale(their_loss).backward()
        scaler.step(optimizers["critic"])
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(made))
        optimizers["maker"].zero_grad()
        scaler.scale(our_loss).backward()
        scaler.step(optimizers["maker"])
        scaler.update()


def by_its_inner_one(maker, critic, batches, loss_fn, Wrapped):
    ours = torch.optim.AdamW(maker.parameters())
    theirs = Wrapped(torch.optim.AdamW(critic.parameters()))
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = maker(noise)
            their_loss = critic(made.detach()).mean() - critic(real).mean()
        theirs.base_optimizer.zero_grad()
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(made))
        ours.zero_grad()
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        scaler.update()


def by_what_holds_both(model, batches, loss_fn):
    ours = torch.optim.AdamW(model.maker.parameters())
    theirs = torch.optim.AdamW(model.critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = model.maker(noise)
            their_loss = model.critic(made.detach()).mean() - model.critic(real).mean()
        model.zero_grad()
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(model.critic(made))
        ours.zero_grad()
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        scaler.update()


def by_another_name(maker, critic, networks, batches, loss_fn):
    ours = torch.optim.AdamW(maker.parameters())
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = maker(noise)
            their_loss = critic(made.detach()).mean() - critic(real).mean()
        for each in networks:
            each.zero_grad()
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(made))
        ours.zero_grad()
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        scaler.update()


def a_part_of_it(model, batches, loss_fn):
    critic = model.critic
    ours = torch.optim.AdamW(model.parameters())
    theirs = torch.optim.AdamW(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for noise, real in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            made = model(noise)
            their_loss = critic(made.detach()).mean() - critic(real).mean()
        model.zero_grad()
        scaler.scale(their_loss).backward()
        scaler.step(theirs)
        with torch.autocast("cuda", dtype=torch.float16):
            our_loss = loss_fn(critic(made))
        ours.zero_grad()
        scaler.scale(our_loss).backward()
        scaler.step(ours)
        scaler.update()
