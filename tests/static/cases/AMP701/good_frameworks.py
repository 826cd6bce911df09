import lightning as L
import torch
from lightning.fabric import Fabric
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class Tune(L.LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)


class Frozen(L.LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.model.requires_grad_(False)
        self.head = nn.Linear(16, 2)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.head.parameters(), lr=1e-5)


class FrozenToo(Frozen):
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)


class Whole(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(16, 2)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)


class Large(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-5)


class Sharded(Whole):
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)


class KeepsAScale(nn.Module):
    def __init__(self, model, teacher):
        super().__init__()
        self.model = model
        self.reference = [teacher]

    def parameters(self, recurse=True):
        return self.model.parameters()


def main(net, loader):
    L.Trainer(precision="bf16-mixed").fit(Tune(net), loader)
    L.Trainer(precision="bf16-mixed").fit(Frozen(net.bfloat16()), loader)
    L.Trainer(precision="bf16-mixed").fit(FrozenToo(net.bfloat16()), loader)
    L.Trainer(precision="bf16-mixed").fit(Whole(), loader)
    L.Trainer(precision="bf16-true").fit(Large(net), loader)
    L.Trainer(precision="bf16-true", strategy="deepspeed_stage_2").fit(Sharded(), loader)


def fabric(net, data):
    fabric = Fabric(precision="bf16-mixed")
    net, optimizer = fabric.setup(net, torch.optim.AdamW(net.parameters(), lr=1e-5))
    for batch in data:
        fabric.backward(net(batch).mean())
        optimizer.step()


def kept(net, teacher, data):
    model = KeepsAScale(net, teacher.bfloat16())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for batch in data:
        model(batch).mean().backward()
        optimizer.step()


def hugging_face(data, net):
    model = AutoModelForCausalLM.from_pretrained("x", torch_dtype=torch.bfloat16)
    Trainer(get_peft_model(model, LoraConfig()), args=TrainingArguments("out"), train_dataset=data).train()
    engine = TrainingArguments("out", deepspeed="zero3.json", bf16=True)
    Trainer(model, args=engine, train_dataset=data).train()
    Trainer(model, args=TrainingArguments("out", optim="adafactor"), train_dataset=data).train()
    Trainer(model.float(), args=TrainingArguments("out"), train_dataset=data).train()
    Trainer(net, args=TrainingArguments("out", bf16=True), train_dataset=data).train()
    high = TrainingArguments("out", learning_rate=5e-3)
    Trainer(model, args=high, train_dataset=data).train()
