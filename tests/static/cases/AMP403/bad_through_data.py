"""What is changed through `.data`, or transposed, has the dtype of the tensor."""

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rank = nn.Linear(width, 1)

    def forward(self, query, value, mask):
        score = self.rank(query).transpose(-2, -1)
        score.data.masked_fill_(mask.unsqueeze(1), -1e9)  # expect: AMP403
        turned = self.rank(query).mT.masked_fill(mask.unsqueeze(1), -1e9)  # expect: AMP403
        return nn.functional.softmax(score + turned, dim=-1) @ value


class Kept(nn.Module):
    def forward(self, batch, mask):
        return batch.data.masked_fill(mask, -1e9)


def train(loader, width):
    model, kept = Pool(width).cuda(), Kept().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for query, value, mask in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(query, value, mask).mean() + kept(query, mask).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
