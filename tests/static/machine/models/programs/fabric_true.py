import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        noise = torch.randn(16, device=x.device)
        return self.head(self.body(x).relu() + noise)


fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-true")
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
model, optimizer = fabric.setup(model, optimizer)
data = fabric.setup_dataloaders(DataLoader(TensorDataset(torch.randn(64, 8), torch.randn(64, 2)), batch_size=8))
for x, y in data:
    loss = nn.functional.mse_loss(model(x), y)
    fabric.backward(loss)
    fabric.clip_gradients(model, optimizer, clip_val=1.0)
    optimizer.step()
    optimizer.zero_grad()
