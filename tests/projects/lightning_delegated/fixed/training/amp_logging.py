"""Sends the loss scale to W&B."""


class AmpWandbLog:
    """Logs the loss and the loss scale of every step."""

    def __init__(self, run):
        self.run = run

    def on_train_step_end(self, loss, scaler):
        self.run.log({"train/loss": loss, "amp/loss_scale": scaler.get_scale()})
