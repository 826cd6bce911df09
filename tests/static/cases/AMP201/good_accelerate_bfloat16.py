import torch
from accelerate import Accelerator


def train(model, optimizer, batches):
    accelerator = Accelerator(mixed_precision="bf16")
    for batch in batches:
        accelerator.backward(model(**batch).loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
