"""A critic that steps in every turn, on one line: the window is the generator's."""

import torch


def train(critic, model, batches, critic_steps):
    ours, theirs = torch.optim.SGD(critic.parameters(), lr=0.1), torch.optim.SGD(model.parameters(), lr=0.1)
    scaler, other = torch.amp.GradScaler("cuda"), torch.amp.GradScaler("cuda")
    for number, batch in enumerate(batches):
        ours.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = critic(batch).mean()
        scaler.scale(loss).backward(); scaler.step(ours); scaler.update()  # fmt: skip  # noqa: E702
        if number % critic_steps == 0:
            theirs.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                judged = -critic(model(batch)).mean()
            other.scale(judged).backward()
            other.step(theirs)
            other.update()
