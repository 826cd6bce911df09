import torch


class Engine:
    def __init__(self, stepper):
        self.stepper = stepper

    def run(self, model, optimizer, batches):
        for batch in batches:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(batch)
            if self.stepper is None:
                loss.backward()
                optimizer.step()
            else:
                self.stepper(loss, optimizer)
