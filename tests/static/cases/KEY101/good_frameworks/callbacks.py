import lightning as L


class Watch(L.Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module.log("spread", outputs["outputs"].std())


class WatchMore(L.Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module.log("preds", outputs["preds"].std())
