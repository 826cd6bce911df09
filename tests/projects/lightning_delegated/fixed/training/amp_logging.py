"""Sends the loss scale to W&B."""


class AmpWandbLog:
    """Logs the loss and the loss scale of every n-th step: reading the scale waits for the GPU."""

    def __init__(self, run, every=1):
        self.run = run
        self.every = every

    def on_train_step_end(self, step, loss, scaler):
        if step % self.every == 0:
            self.run.log({"train/loss": loss, "amp/loss_scale": scaler.get_scale()})
