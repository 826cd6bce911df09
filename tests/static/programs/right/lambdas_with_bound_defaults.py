import torch
from torch import nn


def main():
    left, right = nn.Linear(6, 3), nn.Linear(6, 3)
    first = torch.optim.SGD(left.parameters(), lr=0.1)
    second = torch.optim.SGD(right.parameters(), lr=0.2)
    amp = torch.amp.GradScaler("cuda")
    ready, done = [], []
    for each, net in ((first, left), (second, right)):
        ready.append(lambda each=each: amp.unscale_(each))
        done.append(lambda each=each: amp.step(each))
        done.append(lambda each=each: each.zero_grad())
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(left(x) + right(x), y)
        amp.scale(loss).backward()
        for prepare in ready:
            prepare()
        nn.utils.clip_grad_norm_([*left.parameters(), *right.parameters()], 1.0)
        for finish in done:
            finish()
        amp.update()


if __name__ == "__main__":
    main()
