"""Half weights beside a path that quantizes, behind a wrapper on one path, and made in the default dtype."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM, BitsAndBytesConfig


def train_quantized_or_not(args, loader):
    if args.quantize:
        config = BitsAndBytesConfig(load_in_4bit=True)
        model = AutoModelForCausalLM.from_pretrained("x", quantization_config=config, torch_dtype=torch.bfloat16)
    else:
        model = AutoModelForCausalLM.from_pretrained("x", load_in_8bit=False, torch_dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)  # expect: AMP701 likely
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def train_wrapped_or_not(args, loader):
    model = nn.Linear(8, 8).cuda().bfloat16()
    if args.distributed:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)  # expect: AMP701
    for inputs, targets in loader:
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, inputs):
        return self.layers(inputs)


def train_in_a_window(loader):
    torch.set_default_dtype(torch.bfloat16)
    model = Net().cuda()
    torch.set_default_dtype(torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)  # expect: AMP701
    for inputs, targets in loader:
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()


def build():
    return Net()


def train_if_asked(args, loader):
    before = torch.get_default_dtype()
    if args.bf16:
        torch.set_default_dtype(torch.bfloat16)
    model = build()
    torch.set_default_dtype(before)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)  # expect: AMP701 likely
    for inputs, targets in loader:
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
