"""What fills the dict is in a file of its own, which has nothing to do with AMP."""

import torch

from metric import Metric
from state import Engine


def train(model, optimizer, batches, validation):
    scaler = torch.amp.GradScaler("cuda")
    evaluator = Engine()
    evaluator.state.metrics["seen"] = 0
    Metric().attach(evaluator, "nll")
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    evaluator.run(validation)
    metrics = evaluator.state.metrics
    return metrics["nll"]
