import torch
from base import Trainer
from torch.distributed.fsdp import FullyShardedDataParallel


class LoggingTrainer(Trainer):
    def __init__(self, optimizer, log):
        super().__init__(optimizer)
        self.log = log


def main(net, batches, log):
    model = FullyShardedDataParallel(net)
    trainer = LoggingTrainer(torch.optim.AdamW(model.parameters()), log)
    for batch in batches:
        trainer.step(model(batch).mean())
