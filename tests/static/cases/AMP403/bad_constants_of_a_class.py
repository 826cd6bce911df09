import torch
from torch import nn


class Attention(nn.Module):
    LOWEST = -1e9

    def __init__(self, width):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, inputs, mask):
        scores = torch.matmul(self.query(inputs), self.key(inputs).transpose(1, 2))
        return torch.where(mask, scores, self.LOWEST).softmax(-1) @ inputs  # expect: AMP403 likely


class Filled(Attention):
    def forward(self, inputs, mask):
        scores = torch.matmul(inputs, inputs.transpose(1, 2))
        low = torch.full_like(scores, self.LOWEST)  # expect: AMP403
        lower = torch.full_like(scores, fill_value=-1e8)  # expect: AMP403
        scores.fill_(Attention.LOWEST)  # expect: AMP403
        return torch.where(mask, low, lower).softmax(-1) @ inputs


def train(loader, loss_fn):
    model, other = Attention(8), Filled(8)
    optimizer = torch.optim.Adam(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for inputs, mask, targets in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs, mask) + other(inputs, mask), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
