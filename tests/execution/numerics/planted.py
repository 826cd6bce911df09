"""Trainings that turn inf or NaN by 24 causes, each at a step of its own; each with a twin that does not.

`python planted.py NAME faulty|mended`. A line that ends in `# BREAKS operator limit` is where it begins; where
`swallowed` follows, it ends as a number. Losses are written to the file `losses`, digit by digit.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

MENDED = sys.argv[2] == "mended"
HALF, BRAIN = torch.float16, torch.bfloat16
LOSSES: list[str] = []


def region(dtype):
    return torch.autocast("cuda", dtype=dtype)


def note(loss):
    LOSSES.append(loss.detach().double().item().hex())


def linear(*shape, scale=None):
    layer = nn.Linear(*shape).cuda()
    if scale is not None:
        nn.init.constant_(layer.weight, scale)
    return layer


def batch(*shape):
    return torch.randn(*shape, device="cuda")


def train(model, loss_of, steps, dtype, scaler=None, lr=1e-3):
    """A plain loop."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        with region(dtype):
            loss = loss_of(step)
        note(loss)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()


def scaler():
    return torch.amp.GradScaler("cuda", init_scale=256.0)


def row_masked_as_a_whole():
    net = linear(8, 8)

    def loss_of(step):
        x = batch(3, 5, 8)
        near = torch.ones(3, 5, dtype=torch.bool, device="cuda")
        near[1] = MENDED or step != 1000
        h = net(x)
        scores = (h @ h.transpose(-1, -2)).masked_fill(~near[:, None], -math.inf)
        return (scores.softmax(-1) @ h).float().square().mean()  # BREAKS _softmax not-a-number

    train(net, loss_of, 1003, BRAIN)


def saturated_generator():
    """Two optimizers: only the second one breaks."""
    judge, maker = linear(4, 1), linear(4, 4)
    first, second = (torch.optim.Adam(each.parameters(), lr=1e-3) for each in (judge, maker))
    grown = scaler()
    for _ in range(12):
        x, z = batch(8, 4), batch(8, 4)
        with region(HALF):
            loss = F.softplus(judge(x)).mean()
        first.zero_grad()
        grown.scale(loss).backward()
        grown.step(first)
        with region(HALF):
            p = torch.sigmoid(judge(maker(z)) * 400)
            p = p.float() * 0.99 + 0.005 if MENDED else p
            fooled = -torch.log(1 - p).mean()  # BREAKS log log-of-zero
        note(fooled)
        second.zero_grad()
        grown.scale(fooled).backward()
        grown.step(second)
        grown.update()


def count_of_nothing():
    net = linear(8, 4)

    def loss_of(step):
        valid = torch.zeros(6, device="cuda") if step == 100 else torch.ones(6, device="cuda")
        each = net(batch(6, 8)).float().square().mean(-1)
        count = valid.sum().clamp(min=1) if MENDED else valid.sum()
        return (each * valid).sum() / count  # BREAKS div zero-divisor

    train(net, loss_of, 104, BRAIN, torch.amp.GradScaler("cuda", enabled=False))


def distance_of_a_point_to_itself():
    """The loss is finite, its gradient is not."""
    net = linear(8, 4)

    def loss_of(step):
        x = batch(4, 8)
        y = x.clone() if step == 40 else batch(4, 8)
        squares = (net(x) - net(y)).float().square().sum(-1)
        return (squares + (1e-12 if MENDED else 0)).sqrt().mean()  # BREAKS div zero-divisor

    train(net, loss_of, 43, BRAIN)


def direction_of_nothing():
    net = linear(8, 4)
    shift = nn.Parameter(torch.full((4,), 0.5 if MENDED else 0.0, device="cuda"))
    net.shift = shift

    def loss_of(step):
        length = shift.square().sum().sqrt()  # BREAKS div zero-divisor
        return net(batch(4, 8)).float().square().mean() + 0.1 * length

    train(net, loss_of, 5, BRAIN)


def ratio_of_policies():
    """An actor and a critic: the actor's ratio overflows in half."""
    actor, critic = linear(6, 3), linear(6, 1)
    one, other = (torch.optim.Adam(each.parameters(), lr=1e-3) for each in (actor, critic))
    grown = scaler()
    for step in range(1, 34):
        seen = batch(8, 6)
        with region(HALF):
            value = critic(seen).float().square().mean()
            new = actor(seen).log_softmax(-1)[:, 0].half()
        other.zero_grad()
        grown.scale(value).backward()
        grown.step(other)
        old = new.detach() - (20 if step == 30 else 0.1)
        gap = (new - old).clamp(max=2) if MENDED else new - old
        with torch.autocast("cuda", enabled=False):
            ratio = torch.exp2(gap * 1.44)  # BREAKS exp2 overflow
        loss = -ratio.float().mean()
        note(loss)
        one.zero_grad()
        grown.scale(loss).backward()
        grown.step(one)
        grown.update()


def corrupt_batch():
    net = linear(8, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)

    def batches():
        for number in range(1, 134):
            x = torch.randn(4, 8)
            x[2, 3] = float("nan") if number == 130 and not MENDED else 0.0
            yield x.cuda()

    for x in batches():
        with region(BRAIN):
            loss = net(x).float().square().mean()  # BREAKS _to_copy came-in
        note(loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = linear(16, 64), linear(16, 64)

    def forward(self, x, grow):
        q, k = self.query(x) * grow, self.key(x) * grow
        if MENDED:
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        return torch.bmm(q, k.transpose(1, 2))  # BREAKS bmm overflow


def attention_scores():
    net = Attention()

    def loss_of(step):
        return net(batch(2, 5, 16), 400.0 if step >= 20 else 1.0).softmax(-1).square().mean()

    train(net, loss_of, 26, HALF, scaler())


def sum_over_a_large_batch():
    net = linear(8, 8, scale=1.0)
    net = net if MENDED else net.half()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
    for step in range(1, 13):
        x = torch.ones(4096 if step == 9 else 8, 8, device="cuda", dtype=net.weight.dtype)
        loss = net(x).square().sum().float() / 1e6  # BREAKS sum overflow
        note(loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def embedding_scale():
    table = nn.Embedding(16, 8).cuda()
    head = linear(8, 2)
    model = nn.ModuleList([table, head])

    def loss_of(step):
        rows = table(torch.arange(4, device="cuda") + (8 if step >= 3 else 0)).half()
        scaled = rows * (4.0 if MENDED or step < 3 else 1e5)  # BREAKS mul overflow
        return head(scaled).float().square().mean() / 1e5

    train(model, loss_of, 5, HALF, scaler())


def learning_rate_too_large():
    net = linear(8, 8)

    def loss_of(step):
        return net(batch(4, 8)).float().exp().mean()  # BREAKS exp overflow

    train(net, loss_of, 40, BRAIN, lr=1e-3 if MENDED else 30.0)


class RootMeanSquare(nn.Module):
    def forward(self, x):
        x = x.float() if MENDED else x
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)  # BREAKS mul overflow swallowed


def root_mean_square_by_hand():
    wide, norm, head = linear(8, 32, scale=200.0), RootMeanSquare(), linear(32, 2)
    model = nn.ModuleList([wide, norm, head])
    train(model, lambda _: head(norm(wide(batch(4, 8)))).float().square().mean(), 12, HALF, scaler())


def variance_by_hand():
    wide, head = linear(8, 32), linear(32, 2)
    nn.init.normal_(wide.weight, std=600)

    def loss_of(step):
        h = wide(batch(4, 8))
        h = h.float() if MENDED else h
        centred = h - h.mean(-1, keepdim=True).to(h.dtype)
        spread = (centred * centred).mean(-1, keepdim=True)  # BREAKS mul overflow swallowed
        return head(centred / (spread + 1e-5).sqrt()).float().square().mean()

    train(nn.ModuleList([wide, head]), loss_of, 12, HALF, scaler())


def length_by_hand():
    wide = linear(8, 64, scale=60.0)

    def loss_of(step):
        h = wide(batch(4, 8).abs() + 1).half()
        h = h.float() if MENDED else h
        length = (h * h).sum(-1, keepdim=True).sqrt()  # BREAKS mul overflow swallowed
        return (h / length).float().square().mean()

    train(wide, loss_of, 12, HALF, scaler())


def cross_entropy_by_hand():
    net = linear(8, 4)

    def loss_of(step):
        logits = net(batch(6, 8)) * (300 if step >= 15 else 1)
        target = F.one_hot(torch.arange(6, device="cuda") % 4, 4)
        q = logits.float().softmax(-1).clamp(min=1e-6 if MENDED else 0).half().float()
        return -(q.log() * target).sum(-1).mean()  # BREAKS log log-of-zero

    train(net, loss_of, 19, HALF, scaler())


def divergence_of_hard_choices():
    net = linear(8, 4)

    def loss_of(step):
        p = net(batch(4, 8)).float().softmax(-1)
        q = torch.tensor([0.5, 0.5, 0.0 if step == 60 else 0.1, 0.1], device="cuda")
        q = q.clamp(min=1e-6) if MENDED else q
        return (p * (p.log() - q.log())).sum(-1).mean()  # BREAKS log log-of-zero

    train(net, loss_of, 63, BRAIN)


def likelihood_without_a_floor():
    net = linear(8, 2)

    def loss_of(step):
        mean, spread = net(batch(4, 8)).float().chunk(2, -1)
        spread = spread - (200 if step == 25 else 0)
        variance = spread.clamp(min=-10).exp() if MENDED else spread.exp()
        return ((mean - 1).square() / variance).mean()  # BREAKS div zero-divisor

    train(net, loss_of, 28, BRAIN)


def root_by_power():
    net = linear(8, 4)

    def loss_of(step):
        h = net(batch(4, 8)).float() * (0 if step == 77 else 1)
        return (h.square().sum(-1) + (1e-6 if MENDED else 0)).pow(0.5).mean()  # BREAKS pow zero-divisor

    train(net, loss_of, 79, BRAIN)


class Trainer:
    """Gradients of four batches are added up; the third one of a window breaks."""

    def __init__(self):
        self.net = linear(8, 4)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-3)
        self.seen = 0

    def compute_loss(self, x):
        h = self.net(x).float()
        wide = h[:, 0] if not MENDED else h[:, 0].abs() + 1
        if self.seen != 43 and not MENDED:
            wide = wide.abs() + 1
        elif not MENDED:
            wide = wide * 0
        return (h.sum(-1) / wide).square().mean()  # BREAKS div zero-divisor

    def training_step(self, x):
        self.seen += 1
        with region(BRAIN):
            loss = self.compute_loss(x)
        (loss / 4).backward()
        return loss.detach()

    def fit(self, windows):
        for _ in range(windows):
            for _ in range(4):
                note(self.training_step(batch(4, 8)))
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)


def third_batch_of_a_window():
    Trainer().fit(13)


def closure_of_a_step():
    net = linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(1, 12):
        x = batch(4, 8)

        def closure(x=x, step=step):
            optimizer.zero_grad()
            with region(BRAIN):
                share = net(x).float().sigmoid() * (0 if step == 7 else 1)
            loss = -(share + (1e-6 if MENDED else 0)).log().mean()  # BREAKS log log-of-zero
            loss.backward()
            note(loss)
            return loss

        optimizer.step(closure)


def spread_of_one():
    net = linear(8, 4)

    def loss_of(step):
        h = net(batch(1 if step == 33 else 6, 8)).float()
        return h.std(0, correction=0 if MENDED else 1).add(1e-3).mean()  # BREAKS std not-a-number

    train(net, loss_of, 36, BRAIN)


def mask_that_is_added():
    net = linear(8, 8)

    def loss_of(step):
        h = net(batch(2, 5, 8))
        mask = torch.zeros(2, 1, 5, device="cuda")
        mask[0, 0, 0 if step == 10 else 3 :] = 1.0
        mask = mask * -1e4 if MENDED else mask.masked_fill(mask == 1, -math.inf)
        scores = h @ h.transpose(-1, -2) + mask
        return (scores.softmax(-1) @ h.float()).square().mean()  # BREAKS _softmax not-a-number

    train(net, loss_of, 13, HALF, scaler())


def mean_of_nothing():
    """Behind a scaler one step is skipped, and the next one is sound."""
    net = linear(8, 4)

    def loss_of(step):
        h = net(batch(6, 8)).float().square()
        chosen = h[torch.arange(6, device="cuda") < (0 if step == 1000 else 6)]
        return chosen.mean() if not MENDED else chosen.sum() / max(chosen.numel(), 1)  # BREAKS mean not-a-number

    train(net, loss_of, 1004, HALF, scaler())


def temperature_that_grows():
    image, words = linear(8, 4), linear(8, 4)
    model = nn.ModuleList([image, words])
    model.heat = nn.Parameter(torch.tensor(2.0, device="cuda"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 62):
        with region(BRAIN):
            a, b = image(batch(5, 8)), words(batch(5, 8))
            heat = model.heat.half() + (10.0 if step == 60 else 0.0)
        heat = heat.clamp(max=math.log(100)) if MENDED else heat
        logits = heat.exp() * (a @ b.t())  # BREAKS exp overflow
        loss = F.cross_entropy(logits.float(), torch.arange(5, device="cuda"))
        note(loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
    Path("losses" if len(sys.argv) < 4 else sys.argv[3]).write_text("\n".join(LOSSES), encoding="ascii")
