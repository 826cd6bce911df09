"""Trainings in which neither loss nor gradients show what is wrong: `python doubtful.py PROGRAM faulty|mended`.

The line that has to be named ends with `# SEEN kind`.
"""

import functools
import sys

import torch
from torch import nn

torch.manual_seed(0)
FAULTY = sys.argv[2] == "faulty"


def steps(model, loss_of, count=6, lr=1e-4):
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.dtype is torch.float32], lr=lr)
    for _ in range(count):
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()


class Norms(nn.Module):
    def __init__(self, momentum):
        super().__init__()
        self.first, self.norm = nn.Linear(16, 16), nn.BatchNorm1d(16, momentum=momentum)

    def forward(self, x):
        return self.norm(self.first(x).to(torch.bfloat16))  # SEEN statistics-stuck


def statistics_that_stay():
    model = Norms(0.001)
    if FAULTY:
        model.norm.bfloat16()
    nn.init.normal_(model.first.weight, std=0.35)
    steps(model, lambda: model(torch.randn(2048, 16)).float().pow(2).mean())


def variance_of_an_image():
    norm, conv = nn.BatchNorm2d(4), nn.Conv2d(3, 4, 3)
    if FAULTY:
        norm.half()

    def loss():
        hidden = conv(torch.randn(2, 3, 16, 16) * 4000).half()
        return norm(hidden).float().mean()  # SEEN statistics-overflow

    steps(nn.Sequential(conv, norm), loss)


def functional_statistics():
    mean, variance = torch.zeros(8), torch.ones(8)
    if FAULTY:
        mean, variance = mean.half(), variance.half()
    first = nn.Linear(8, 8)

    def loss():
        hidden = first(torch.randn(256, 8) * 2000).half()
        hidden = nn.functional.batch_norm(hidden, mean, variance, training=True)  # SEEN statistics-overflow
        return hidden.float().mean()

    steps(first, loss)


def policy():
    """Actions, states, a policy, and the log-probabilities before the first step, in the precision of the program."""
    model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 500))
    return model, torch.randn(256, 16), torch.randint(500, (256,))


def ratio_of_a_policy():
    model, states, actions = policy()

    def log_probabilities():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(states)
        logits = logits if FAULTY else logits.float()
        return logits.log_softmax(-1).gather(1, actions[:, None])[:, 0]

    with torch.no_grad():
        old = log_probabilities()

    def loss():
        ratio = torch.exp(log_probabilities() - old)  # SEEN ratio-of-rounded
        return -torch.min(ratio, ratio.clamp(0.8, 1.2)).mean()

    steps(model, loss, 10, lr=0.2)


def ratio_by_a_distribution():
    model, states, actions = policy()

    def log_probabilities():
        logits = model(states).to(torch.bfloat16 if FAULTY else torch.float32)
        return torch.distributions.Categorical(logits=logits, validate_args=False).log_prob(actions)

    with torch.no_grad():
        old = log_probabilities()

    def loss():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
            difference = log_probabilities().float() - old.float()  # SEEN ratio-of-rounded
        return -difference.exp().mean()

    steps(model, loss, 10, lr=0.2)


def logarithm_of_a_softmax():
    model, states, actions = policy()

    def log_probabilities():
        logits = model(states).to(torch.bfloat16 if FAULTY else torch.float32)
        return torch.log(torch.softmax(logits, -1)).gather(1, actions.unsqueeze(1)).squeeze(1)

    with torch.no_grad():
        old = log_probabilities()
    preference = nn.LogSigmoid()
    steps(model, lambda: -preference(0.1 * (log_probabilities() - old)).mean(), 10, lr=4.0)  # SEEN ratio-of-rounded


def stored_rollout_in_float32():
    model, states, actions = policy()

    def log_probabilities(on):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=on):
            logits = model(states).log_softmax(-1)
        return torch.take_along_dim(logits, actions[:, None], 1).squeeze(1).float()

    with torch.no_grad():
        old = log_probabilities(on=False)
    steps(model, lambda: -torch.exp(log_probabilities(on=FAULTY) - old).mean(), 10)  # SEEN ratio-of-two-precisions


def rollout_outside_of_the_region():
    model, states, actions = policy()
    nn.init.normal_(model[2].weight, std=2.0)

    def log_probabilities(on):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=on):
            logits = model(states).float()
            chosen = logits.gather(1, actions[:, None]) - torch.logsumexp(logits, -1, keepdim=True)
        return chosen.squeeze(1)

    def loss():
        with torch.no_grad():
            old = log_probabilities(on=not FAULTY)
        return -torch.exp(log_probabilities(on=True) - old).mean()  # SEEN ratio-of-two-precisions

    steps(model, loss, 10)


class Method(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(16, 16)

    def forward(self, x):
        return self.net(x)

    def loss(this, x):  # noqa: N805
        return this.net(x).float().pow(2).mean()  # SEEN past-the-wrapper


def method_past_a_wrapper():
    model = Method()
    model.forward = torch.autocast("cpu", dtype=torch.bfloat16)(model.forward)
    x = torch.randn(8, 16)
    steps(model, lambda: model.loss(x) if FAULTY else model(x).float().pow(2).mean())


def method_past_two_wrappers():
    model, x = Method(), torch.randn(8, 16)
    inner = torch.autocast("cpu", dtype=torch.bfloat16)(type(model).forward)

    @functools.wraps(inner)
    def outer(self, *given):
        return inner(self, *given).float()

    model.forward = outer.__get__(model)

    def loss():
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=not FAULTY):
            if not FAULTY:
                return model.loss(x)
        return model.loss(x)

    steps(model, loss)


def short_last_window():
    model = nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for number in range(10):
        last = not FAULTY and number >= 8
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.randn(8, 16)).float().pow(2).mean() / (2 if last else 4)
        loss.backward()
        if number % 4 == 3 or number == 9:
            optimizer.step()  # SEEN short-window
            optimizer.zero_grad()


def short_window_with_a_scaler():
    model = nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for _ in range(2):
        batches = list(torch.randn(9 if FAULTY else 8, 8, 16))
        for number, batch in enumerate(batches, 1):
            with torch.autocast("cpu", dtype=torch.float16):
                loss = model(batch).float().pow(2).mean() * 0.25
            scaler.scale(loss).backward()
            if number % 4 == 0 or number == len(batches):
                scaler.step(optimizer)  # SEEN short-window
                scaler.update()
                optimizer.zero_grad()


globals()[sys.argv[1]]()
