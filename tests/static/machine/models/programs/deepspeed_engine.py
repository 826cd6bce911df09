import os

import torch
import torch.distributed as dist
from torch import nn

os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
import deepspeed  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.norm(self.body(x)).relu())


def trained(dtype, stage, **options):
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 2,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": stage},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
    }
    model = Net()
    engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config | options)
    for _ in range(4):
        outputs = engine(torch.randn(4, 8).to(dtype))
        loss = outputs.float().square().mean()
        engine.backward(loss)
        engine.step()
    for each in engine.module.parameters():
        each.detach()
    return engine


trained(torch.float32, 0)
trained(torch.bfloat16, 1, bf16={"enabled": True}).save_checkpoint("checkpoints")
trained(torch.bfloat16, 2, bf16={"enabled": True})
own = Net()
stepped = torch.optim.SGD(own.parameters(), lr=0.1)
engine, _, _, _ = deepspeed.initialize(
    model=own, optimizer=stepped, config={"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "zero_allow_untested_optimizer": True}
)
loss = engine(torch.randn(4, 8).bfloat16()).float().sum()
engine.backward(loss)
engine.step()
engine.eval()
with torch.no_grad():
    engine(torch.randn(4, 8).bfloat16()).sum()
