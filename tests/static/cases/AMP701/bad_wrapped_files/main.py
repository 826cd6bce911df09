import torch
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModel
from wrapper import Outer, Reward


def load():
    return AutoModel.from_pretrained("x", dtype=torch.bfloat16)


def train(batches):
    model = Reward(load())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)  # expect: AMP701
    for tokens in batches:
        optimizer.zero_grad()
        model(tokens).mean().backward()
        optimizer.step()


def parallel(batches):
    model = DistributedDataParallel(Outer(load()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)  # expect: AMP701
    for tokens in batches:
        optimizer.zero_grad()
        model(tokens).mean().backward()
        optimizer.step()


def prepared(batches):
    accelerator = Accelerator(mixed_precision="bf16")
    model = accelerator.prepare(Reward(load(), weight=2.0))
    optimizer = accelerator.prepare(torch.optim.AdamW(model.parameters(), lr=1e-5))  # expect: AMP701 likely
    for tokens in batches:
        accelerator.backward(model(tokens).mean())
        optimizer.step()
        optimizer.zero_grad()
