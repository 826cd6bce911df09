import lightning as L
import torch


class Base(L.LightningModule):
    @property
    def automatic_optimization(self):
        return False

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Net(Base):
    def training_step(self, batch, index):
        opt = self.optimizers()
        opt.zero_grad()
        self.error(batch).backward()  # expect: AMP601
        opt.step()

    def error(self, batch):
        return self(batch).mean()
