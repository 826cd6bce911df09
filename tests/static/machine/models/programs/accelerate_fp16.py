import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)  # on cuda
data = DataLoader(TensorDataset(torch.randn(64, 8), torch.randn(64, 2)), batch_size=8)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
model, optimizer, data, scheduler = accelerator.prepare(model, optimizer, data, scheduler)
for x, y in data:
    with accelerator.accumulate(model):
        with accelerator.autocast():
            inner = torch.nn.functional.linear(x, torch.ones(8, 8, device=accelerator.device))
        loss = nn.functional.mse_loss(model(inner.float()), y)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
accelerator.unwrap_model(model, keep_fp32_wrapper=False)
with torch.no_grad():
    model(torch.randn(4, 8, device=accelerator.device)).sum()
