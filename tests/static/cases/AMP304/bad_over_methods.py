"""One method computes the loss, another scales it: the scaler does not know which dtype was chosen."""

import torch


class Engine:
    def __init__(self, model, optimizer, amp, use_bfloat16):
        self.model, self.optimizer, self.amp = model, optimizer, amp
        self.dtype = torch.bfloat16 if use_bfloat16 else torch.float16
        self.scaler = None if not amp else torch.amp.GradScaler()  # expect: AMP304 likely

    def forward_train(self, batch):
        with torch.autocast("cuda", enabled=self.amp, dtype=self.dtype):
            return self.model(batch)

    def forward_eval(self, batch):
        with torch.autocast("cuda", dtype=torch.bfloat16), torch.inference_mode():
            return self.model(batch)

    def backward(self, loss):
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()

    def step(self):
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        self.optimizer.zero_grad()
