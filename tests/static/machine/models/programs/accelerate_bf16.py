import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return {"logits": self.head(self.body(x).relu())}


accelerator = Accelerator(mixed_precision="bf16")  # on cuda
data = DataLoader(TensorDataset(torch.randn(64, 8), torch.randn(64, 2)), batch_size=8)
model = Net()
first = torch.optim.SGD(model.body.parameters(), lr=1e-3)
second = torch.optim.SGD(model.head.parameters(), lr=1e-3)
model, first, second, data = accelerator.prepare(model, first, second, data)
for x, y in data:
    loss = nn.functional.mse_loss(model(x)["logits"], y)
    accelerator.backward(loss)
    accelerator.clip_grad_value_(model.parameters(), 1.0)
    for each in (first, second):
        each.step()
        each.zero_grad()
