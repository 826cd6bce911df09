"""The workload contract on real torch, in a screen: a classifier of two clouds of points."""

import hashlib

import torch


class Tiny:
    samples_per_step = 64

    def __init__(self, precision, seed, device):
        torch.manual_seed(seed)
        torch.backends.cuda.matmul.allow_tf32 = True  # as many a training script does; the arm switches it off
        width = 2048 if device == "cuda" else 64
        layers = [torch.nn.Linear(16, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()]
        self.model = torch.nn.Sequential(*layers, torch.nn.Linear(width, 2)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.dtype = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
        self.scaler = torch.amp.GradScaler(device, enabled=precision == "fp16")
        self.draw = torch.Generator().manual_seed(seed)
        self.device, self.effective_steps, self.digest = device, 0, hashlib.sha256()

    def batch(self, count, draw):
        labels = torch.randint(0, 2, (count,), generator=draw)
        points = torch.randn(count, 16, generator=draw) + 2 * labels[:, None]
        return points.to(self.device), labels.to(self.device)

    def forward(self, points):
        with torch.autocast(self.device, dtype=self.dtype or torch.bfloat16, enabled=self.dtype is not None):
            return self.model(points)

    def step(self):
        points, labels = self.batch(self.samples_per_step, self.draw)
        self.digest.update(points.cpu().numpy().tobytes())
        loss = torch.nn.functional.cross_entropy(self.forward(points).float(), labels)
        self.scaler.scale(loss).backward()
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.effective_steps += self.scaler.get_scale() >= before

    @torch.no_grad()
    def evaluate(self):
        points, labels = self.batch(1000, torch.Generator().manual_seed(1))
        return (self.forward(points).argmax(1) == labels).float().tolist()

    def data_digest(self):
        return self.digest.hexdigest()

    def parameter_bytes(self):
        return sum(p.numel() * p.element_size() for p in self.model.parameters())


def build(precision, seed, device="cpu"):
    return Tiny(precision, seed, device)
