import torch
import yaml
from accelerate import Accelerator


def train(configuration, steps):
    """Accelerate is told the precision by its configuration alone."""
    with open(configuration, encoding="utf-8") as file:
        accelerator = Accelerator(**{key: value for key, value in yaml.safe_load(file).items() if "mixed" in key})
    model = torch.nn.Linear(4, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
    for _ in range(steps):
        optimizer.zero_grad()
        accelerator.backward(model(torch.ones(2, 4, device=accelerator.device)).float().mean())
        optimizer.step()
