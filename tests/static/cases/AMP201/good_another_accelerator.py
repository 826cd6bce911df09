import torch
from colossalai.booster import Booster


def train(model, optimizer, batches):
    accelerator = Booster(mixed_precision="fp16")
    for batch in batches:
        accelerator.backward(model(**batch).loss, optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
