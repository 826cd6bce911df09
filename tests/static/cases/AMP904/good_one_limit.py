import deepspeed
import lightning as L
import torch


class ByHand(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.automatic_optimization = False

    def training_step(self, batch, _):
        optimizer = self.optimizers()
        self.manual_backward(self.net(batch).mean())
        self.clip_gradients(optimizer, gradient_clip_val=1.0)
        optimizer.step()
        optimizer.zero_grad()


class Automatic(L.LightningModule):
    """It changes how Lightning clips, and logs the norm."""

    def training_step(self, batch, _):
        return self.net(batch).mean()

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        self.clip_gradients(optimizer, gradient_clip_val=gradient_clip_val)

    def on_before_optimizer_step(self, optimizer):
        self.log("norm", torch.nn.utils.get_total_norm([each.grad for each in self.parameters()]))


class InTheHook(L.LightningModule):
    def training_step(self, batch, _):
        return self.net(batch).mean()

    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)


def main(net, batches):
    L.Trainer(gradient_clip_val=None).fit(ByHand(net), batches)
    L.Trainer(gradient_clip_val=0.5).fit(Automatic(net), batches)
    L.Trainer(gradient_clip_val=0).fit(InTheHook(net), batches)


CONFIG = {"train_batch_size": 8, "bf16": {"enabled": True}, "gradient_clipping": 1.0}
OTHER = {"train_batch_size": 8, "bf16": {"enabled": True}}


def engines(net, batches):
    engine, optimizer, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONFIG)
    for batch in batches:
        engine.backward(engine(batch).mean())
        engine.step()


def other(net, batches):
    engine, optimizer, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=OTHER)
    for batch in batches:
        engine.backward(engine(batch).mean())
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        engine.step()
