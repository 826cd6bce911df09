import torch


class Own:
    """A schedule of the project's own that is told the number of the batch."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step_batch(self, batch):
        for group in self.optimizer.param_groups:
            group["lr"] = 1.0 / (1 + batch)


def train(model, loss_fn, optimizer, batches, window, log):
    scaler = torch.amp.GradScaler("cuda")
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    index = 0
    while True:
        try:
            inputs, targets = next(batches)
        except StopIteration:
            if index % window:
                scaler.step(optimizer)
                scaler.update()
            break
        index += 1
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(inputs), targets) / window
        scaler.scale(loss).backward()
        if index % window == 0:
            for _ in range(window):
                if isinstance(scheduler, Own):
                    scheduler.step_batch(index)  # expect: AMP213 likely
                else:
                    scheduler.step()  # expect: AMP213
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        current_grad_scale = scaler.get_scale()
        if current_grad_scale < 1.0:
            log(current_grad_scale)
