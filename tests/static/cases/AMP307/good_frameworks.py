import lightning as L
import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from lightning.fabric import Fabric
from lightning.fabric.strategies import FSDPStrategy
from torch.nn.utils import clip_grad_norm_


class Clips(L.LightningModule):
    def __init__(self, net, frozen):
        super().__init__()
        self.net = net

    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)


def main(net, loader):
    L.Trainer(precision="bf16-mixed", strategy="ddp", devices=8).fit(Clips(net, None), loader)
    L.Trainer(precision="bf16-mixed").fit(Clips(net, None), loader)


def by_the_framework(net, batches):
    fabric = Fabric(precision="bf16-mixed", strategy="fsdp")
    module = fabric.setup_module(net)
    optimizer = fabric.setup_optimizers(torch.optim.AdamW(module.parameters()))
    for batch in batches:
        fabric.backward(module(batch).mean())
        fabric.clip_gradients(module, optimizer, max_norm=1.0)
        optimizer.step()


def not_sharded(net, batches):
    fabric = Fabric(strategy=FSDPStrategy(sharding_strategy="NO_SHARD"))
    module = fabric.setup_module(net)
    optimizer = fabric.setup_optimizers(torch.optim.AdamW(module.parameters()))
    for batch in batches:
        fabric.backward(module(batch).mean())
        clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()


def of_tensors_that_know_their_shards(net, batches):
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2))
    model, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters()))
    for batch in batches:
        accelerator.backward(model(batch).mean())
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
