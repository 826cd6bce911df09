import torch
from torch import nn


from collections import deque


def main():
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        todo = deque()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        todo.append(lambda: scaler.scale(loss).backward())
        todo.append(lambda: scaler.unscale_(optimizer))
        todo.append(lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        todo.append(lambda: scaler.step(optimizer))
        todo.append(scaler.update)
        while todo:
            todo.popleft()()


if __name__ == "__main__":
    main()
