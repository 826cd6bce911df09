import torch
from torch import nn
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


class Own(Trainer):
    pass


class Net(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body


def main(data, body):
    arguments = TrainingArguments("out", bf16=True, learning_rate=1e-5)
    Trainer(model=Net(body).to(torch.bfloat16), args=arguments, train_dataset=data).train()  # expect: AMP701 likely
    model = AutoModelForCausalLM.from_pretrained("x", torch_dtype=torch.bfloat16)
    Own(model, args=TrainingArguments("out"), train_dataset=data).train()  # expect: AMP701 likely
    paged = TrainingArguments("out", optim="paged_adamw_8bit", learning_rate=2e-5)
    Own(model, args=paged, train_dataset=data).train()  # expect: AMP701 likely
