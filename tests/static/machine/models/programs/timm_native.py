import torch
from timm.utils import NativeScaler, dispatch_clip_grad
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = DataLoader(TensorDataset(torch.randn(32, 8), torch.randn(32, 2)), batch_size=8)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = NativeScaler()
for index, (x, y) in enumerate(data):
    needs_update = (index + 1) % 2 == 0
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y) / 2
    scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters(), need_update=needs_update)
    if needs_update:
        optimizer.zero_grad()
state = scaler.state_dict()
loss = nn.functional.mse_loss(model(torch.randn(4, 8)), torch.zeros(4, 2))
loss.backward()
dispatch_clip_grad(model.parameters(), 0.1, mode="value")
optimizer.step()
