import dataclasses
from collections.abc import Callable
from functools import partial

import torch
from torch import nn


@dataclasses.dataclass
class Verbs:
    prepare: Callable
    clip: Callable
    step: Callable
    after: tuple


def verbs_of(net, sgd, amp):
    return Verbs(
        partial(amp.unscale_, sgd),
        partial(nn.utils.clip_grad_norm_, max_norm=0.5),
        amp.step,
        after=(amp.update, partial(sgd.zero_grad, set_to_none=True)),
    )


def main():
    net = nn.Linear(6, 3)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    amp = torch.amp.GradScaler("cuda")
    verbs = verbs_of(net, sgd, amp)
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        amp.scale(loss).backward()
        verbs.prepare()
        verbs.clip(net.parameters())
        verbs.step(sgd)
        for each in verbs.after:
            each()


if __name__ == "__main__":
    main()
