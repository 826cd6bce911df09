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
    def training_step(self, batch, _):
        return self.net(batch).mean()

    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)  # expect: AMP904


class Sometimes(L.LightningModule):
    def training_step(self, batch, _):
        return self.net(batch).mean()

    def on_before_optimizer_step(self, optimizer):
        if self.global_step > 100:
            self.clip_gradients(optimizer, gradient_clip_val=0.1)  # expect: AMP904 likely


def main(net, batches):
    L.Trainer(gradient_clip_val=0.5).fit(ByHand(net), batches)  # expect: AMP904
    L.Trainer(gradient_clip_val=0.5).fit(Automatic(net), batches)
    trainer = L.Trainer(gradient_clip_val=0.5)
    trainer.fit(Sometimes(net), batches)


CONFIG = {"train_batch_size": 8, "bf16": {"enabled": True}, "gradient_clipping": 1.0}


def engine(net, batches):
    engine, optimizer, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONFIG)
    for batch in batches:
        engine.backward(engine(batch).mean())
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # expect: AMP904
        engine.step()
