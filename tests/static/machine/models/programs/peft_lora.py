import torch
from peft import LoraConfig, TaskType, get_peft_model, prepare_model_for_kbit_training
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.norm(self.body(x).relu()))


def dtypes(model):
    for each in model.parameters():
        if each.requires_grad:
            each.detach().sum()


def trained(model, dtype):
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-4)
    loss = nn.functional.mse_loss(model(torch.randn(4, 8).to(dtype)).float(), torch.zeros(4, 2))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


config = LoraConfig(r=2, target_modules=["body"], modules_to_save=["head"])
first = get_peft_model(Net().bfloat16(), config)
dtypes(first)
trained(first, torch.bfloat16)
second = get_peft_model(Net().bfloat16(), LoraConfig(r=2, target_modules=["body"]), autocast_adapter_dtype=False)
second.body.lora_A["default"].weight.detach().sum()
trained(second, torch.bfloat16)
prepared = prepare_model_for_kbit_training(Net().bfloat16(), use_gradient_checkpointing=False)
third = get_peft_model(prepared, LoraConfig(r=2, target_modules=["body"]))
trained(third, torch.float32)
first.merge_and_unload()
