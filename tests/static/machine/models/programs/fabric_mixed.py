import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fabric = Fabric(accelerator="auto", devices=1, precision="16-mixed")  # on cuda
fabric.launch()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer = fabric.setup(model, optimizer)
data = fabric.setup_dataloaders(DataLoader(TensorDataset(torch.randn(64, 8), torch.randn(64, 2)), batch_size=8))
for x, y in data:
    optimizer.zero_grad()
    with fabric.autocast():
        inner = torch.nn.functional.linear(x, torch.ones(8, 8, device=fabric.device))
    loss = nn.functional.mse_loss(model(inner), y)
    fabric.backward(loss)
    fabric.clip_gradients(model, optimizer, max_norm=1.0, error_if_nonfinite=False)
    optimizer.step()
