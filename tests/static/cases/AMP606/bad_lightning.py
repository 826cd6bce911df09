import lightning.pytorch as pl


class Net(pl.LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()
        self.log("loss", loss)
        return {"loss": loss / self.trainer.accumulate_grad_batches, "seen": len(batch)}  # expect: AMP606


def main(data):
    pl.Trainer(accumulate_grad_batches=8).fit(Net(), data)
