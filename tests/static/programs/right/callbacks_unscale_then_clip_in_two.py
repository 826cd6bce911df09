import torch
from torch import nn


class Unscale:
    def before_step(self, state):
        state["scaler"].unscale_(state["optimizer"])


class Clip:
    def before_step(self, state):
        nn.utils.clip_grad_norm_(state["model"].parameters(), 0.5)


def fit(state, callbacks, batches):
    for x, y in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(state["model"](x), y)
        state["scaler"].scale(loss).backward()
        for callback in callbacks:
            callback.before_step(state)
        state["scaler"].step(state["optimizer"])
        state["scaler"].update()
        state["optimizer"].zero_grad()


def main():
    model = nn.Linear(6, 3)
    state = {
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "scaler": torch.amp.GradScaler("cuda"),
    }
    fit(state, [Unscale(), Clip()], [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(6)])


if __name__ == "__main__":
    main()
