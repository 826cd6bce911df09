"""Stands for AMP code: autocast and GradScaler are words here, so the gate follows this file."""


def step(scaler, loss):
    """One step under autocast."""
    return scaler * loss


def untested(scaler):
    return scaler + 1


class Trainer:
    def __init__(self, scaler):
        self.scaler = scaler

    def run(
        self,
        losses=(),
        limit=10,
    ):
        def one(loss):
            return step(self.scaler, loss)

        return [one(loss) for loss in losses[:limit]]


def one_liner(scaler): return scaler
