import torch


class Trainer:
    """Trains in float16 where there is CUDA, and in float32 elsewhere, as most scripts do."""

    def __init__(self):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = torch.nn.Linear(4, 1).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.device == "cuda")

    def step(self, unscales):
        self.optimizer.zero_grad()
        with torch.autocast(self.device, dtype=torch.float16, enabled=self.device == "cuda"):
            loss = self.model(torch.ones(2, 4, device=self.device)).float().mean()
        self.scaler.scale(loss).backward()
        if unscales:
            self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
