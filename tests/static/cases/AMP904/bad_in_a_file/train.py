from lightning.pytorch import LightningModule
from lightning.pytorch.cli import LightningCLI


class ByHand(LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.automatic_optimization = False

    def training_step(self, batch, _):
        optimizer = self.optimizers()
        self.manual_backward(self.net(batch).mean())
        optimizer.step()
        optimizer.zero_grad()


LightningCLI(ByHand, parser_kwargs={"default_config_files": ["cli.yaml"]})
