"""The class below hands in the dtype: the region is always in float16, and the scaler asks for that dtype, or another."""

import torch


class Base:
    def __init__(self, model, dtype=torch.bfloat16):
        self.model = model.cuda()
        self.dtype = dtype
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.dtype == torch.float16)

    def step(self, x):
        with torch.autocast("cuda", dtype=self.dtype):
            loss = self.model(x).float().mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()


class Half(Base):
    def __init__(self, model):
        super().__init__(model, torch.float16)


Half(torch.nn.Linear(4, 4)).step(3)
