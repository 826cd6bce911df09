import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DDP(Net(), gradient_as_bucket_view=True)
model.register_comm_hook(state=None, hook=default_hooks.fp16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    if step % 2 == 0:
        with model.no_sync():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.mse_loss(model(torch.randn(4, 8)), torch.zeros(4, 2))
            loss.backward()
        continue
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(torch.randn(4, 8)), torch.zeros(4, 2))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.module.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
half = DDP(Net().bfloat16())
half.register_comm_hook(None, default_hooks.allreduce_hook)
optimizer = ZeroRedundancyOptimizer(half.parameters(), optimizer_class=torch.optim.SGD, lr=0.1)
half(torch.randn(4, 8).bfloat16()).float().sum().backward()
optimizer.step()
optimizer.zero_grad()
state = half.state_dict()
dist.destroy_process_group()
