import torch
from accelerate import Accelerator
from lightning.fabric import Fabric
from torch import nn
from transformers import Trainer, TrainingArguments


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)

    def forward(self, inputs):
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP614
            return self.net(inputs)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Linear(8, 8)

    def forward(self, inputs):
        with torch.autocast("cuda", dtype=torch.bfloat16):  # expect: AMP614
            return self.blocks(inputs)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)

    def forward(self, inputs, labels):
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP614
            return {"loss": self.net(inputs).sub(labels).square().mean()}


def prepared(batches):
    accelerator = Accelerator(mixed_precision="bf16")
    net = Attention()
    model, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in batches:
        accelerator.backward(model(batch).mean())
        optimizer.step()


def set_up(batches):
    fabric = Fabric(precision="16-mixed")
    net = Tower()
    model, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for batch in batches:
        fabric.backward(model(batch).mean())
        optimizer.step()


def hugging_face(data):
    arguments = TrainingArguments("out", bf16=True)
    Trainer(model=Tagger(), args=arguments, train_dataset=data).train()
