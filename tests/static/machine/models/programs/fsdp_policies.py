import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.body(x).relu())


dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
first = FullyShardedDataParallel(Net(), mixed_precision=MixedPrecision(param_dtype=torch.bfloat16), device_id=torch.device("cpu"))
second = Net()
fully_shard(second, mesh=init_device_mesh("cpu", (1,)), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=torch.float32))
for model in (first, second):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = nn.functional.mse_loss(model(torch.randn(4, 8)), torch.zeros(4, 2))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
