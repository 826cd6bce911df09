import collections

import torch
from torch import nn


def limit(net):
    nn.utils.clip_grad_value_(net.parameters(), 0.05)


def main():
    net = nn.Linear(6, 3)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    amp = torch.amp.GradScaler("cuda")
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        sgd.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x), y)
        amp.scale(loss).backward()
        pending = collections.deque([(amp.unscale_, sgd)])
        pending.append((limit, net))
        pending.extend([(amp.step, sgd)])
        while len(pending) > 0:
            action, subject = pending.popleft()
            action(subject)
        amp.update()


if __name__ == "__main__":
    main()
