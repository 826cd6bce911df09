import bitsandbytes as bnb
import torch
from accelerate import Accelerator
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = bnb.nn.Linear4bit(64, 64, compute_dtype=torch.bfloat16, quant_type="nf4")
        self.middle = bnb.nn.Linear8bitLt(64, 64, has_fp16_weights=False)
        self.head = nn.Linear(64, 2)

    def forward(self, x):
        return self.head(self.middle(self.body(x).relu()))


model = Accelerator(cpu=True, mixed_precision="no").prepare_model(Net())  # moved there, it is quantized
x = torch.randn(4, 64)
y = model.body(x)
y.sum()
for each in model.body.parameters():
    each.detach()
loss = nn.functional.mse_loss(model(x), torch.zeros(4, 2))
loss.backward()
optimizer = bnb.optim.AdamW8bit(model.head.parameters(), lr=1e-3)
optimizer.step()
optimizer.zero_grad()
