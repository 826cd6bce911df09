import functools

import torch
from torch import nn

STEPS = {}


def step_for(kind, verb):
    def keep(function):
        STEPS[f"{kind}_{verb}"] = function
        return function

    return keep


@step_for("amp", "backward")
def amp_backward(loss, amp, sgd, net):
    sgd.zero_grad()
    amp.scale(loss).backward()


@step_for("amp", "update")
def amp_update(loss, amp, sgd, net):
    amp.unscale_(sgd)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    amp.step(sgd)
    amp.update()


@step_for("plain", "backward")
def plain_backward(loss, sgd, net):
    sgd.zero_grad()
    loss.backward()


@step_for("plain", "update")
def plain_update(loss, sgd, net):
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    sgd.step()


def main(kind):
    net = nn.Linear(6, 3)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    amp = torch.amp.GradScaler("cuda")
    given = {"sgd": sgd, "net": net} | ({"amp": amp} if kind == "amp" else {})
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        for verb in ("backward", "update"):
            functools.partial(STEPS[f"{kind}_{verb}"], loss)(**given)


if __name__ == "__main__":
    main("amp")
