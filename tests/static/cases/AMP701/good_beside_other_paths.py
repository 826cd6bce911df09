"""Weights that no path trains in bfloat16, and those made outside of the window of the default dtype."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM, BitsAndBytesConfig


def train_quantized_or_whole(args, loader):
    if args.quantize:
        config = BitsAndBytesConfig(load_in_4bit=True)
        model = AutoModelForCausalLM.from_pretrained("x", quantization_config=config, torch_dtype=torch.bfloat16)
    else:
        model = AutoModelForCausalLM.from_pretrained("x", torch_dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, inputs):
        return self.layers(inputs)


def train_after_the_window(args, loader):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    teacher = Net().cuda()
    torch.set_default_dtype(before)
    model = Net().cuda()
    if args.distributed:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for inputs in loader:
        nn.functional.mse_loss(model(inputs), teacher(inputs.bfloat16()).float()).backward()
        optimizer.step()
        optimizer.zero_grad()


def train_lifted_again(loader):
    torch.set_default_dtype(torch.bfloat16)
    model = Net().float()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for inputs, targets in loader:
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
