import lightning as L
import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from lightning.fabric import Fabric
from lightning.fabric.strategies import FSDPStrategy
from torch.nn.utils import clip_grad_norm_


class Clips(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)  # expect: AMP307

    def on_after_backward(self):
        clip_grad_norm_(self.net.parameters(), 1.0)  # expect: AMP307


def main(net, loader):
    L.Trainer(precision="bf16-mixed", strategy="fsdp", devices=8).fit(Clips(net), loader)


def set_up(net, batches):
    fabric = Fabric(precision="bf16-mixed", strategy=FSDPStrategy(cpu_offload=True))
    module = fabric.setup_module(net)
    optimizer = fabric.setup_optimizers(torch.optim.AdamW(module.parameters()))
    for batch in batches:
        fabric.backward(module(batch).mean())
        clip_grad_norm_(module.parameters(), 1.0)  # expect: AMP307
        optimizer.step()


def prepared(net, batches):
    accelerator = Accelerator(mixed_precision="bf16", fsdp_plugin=FullyShardedDataParallelPlugin())
    model, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in batches:
        accelerator.backward(model(batch).mean())
        clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP307
        optimizer.step()
