"""Sends the loss scale to W&B."""

try:
    import lightning.pytorch as pl
except ImportError:  # the callback is tested on machines without Lightning
    pl = None


class AmpWandbCallback(pl.Callback if pl else object):
    """Logs the loss scale at the end of each epoch, where one can be found."""

    def __init__(self, run):
        self.run = run

    def _get_loss_scale(self, trainer):
        try:
            strategy = getattr(trainer, "strategy", None)
            if strategy is None:
                return None
            plugin = getattr(strategy, "precision_plugin", None)
            if plugin is None:
                return None
            scaler = getattr(plugin, "scaler", None)
            get_scale = getattr(scaler, "get_scale", None)
            return float(get_scale()) if callable(get_scale) else None
        except Exception:
            return None

    def on_train_epoch_end(self, trainer, pl_module):
        scale = self._get_loss_scale(trainer)
        if scale is not None:
            self.run.log({"amp/loss_scale": scale})
