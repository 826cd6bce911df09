"""A file that no program imports with this one puts keys into an attribute of the same name."""

import torch


class Plan:
    def __init__(self, batches):
        self.env = {"train_loader": batches}


def train(model, optimizer, batches):
    plan = Plan(batches)
    print(len(plan.env["train_data"]))  # expect: KEY101 certain
    for batch in plan.env["train_loader"]:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
