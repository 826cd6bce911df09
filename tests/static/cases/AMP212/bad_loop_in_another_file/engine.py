import torch


class Engine:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def do_pass(self, batch):
        with torch.autocast("cuda"):
            loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()  # expect: AMP212
        self.scaler.step(self.optimizer)
        self.scaler.update()
