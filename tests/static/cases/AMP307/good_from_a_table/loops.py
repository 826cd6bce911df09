import torch


class Loop:
    def __init__(self, net):
        self.net = net

    def run(self, batches, optimizer, scaler):
        for batch in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.net(batch).mean()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
