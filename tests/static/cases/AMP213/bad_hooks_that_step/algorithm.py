import torch
from torch.amp import GradScaler
from update import CountingUpdateHook, UpdateHook


class Algorithm:
    def __init__(self, model, loader, optimizer, scheduler, counting):
        self.model = model
        self.loader = loader
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.scaler = GradScaler("cuda")
        self.steps = 0
        self.hook = CountingUpdateHook() if counting else UpdateHook()

    def train(self):
        for inputs in self.loader:
            with torch.autocast("cuda", dtype=torch.float16):
                self.loss = self.model(inputs)
            self.hook.after_train_step(self)
