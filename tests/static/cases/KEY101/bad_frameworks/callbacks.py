import lightning as L


class Watch(L.Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        pl_module.log("spread", outputs["outputs"].std())
        pl_module.log("largest", outputs["logits"].max())  # expect: KEY101
