import torch
from lightning.pytorch import LightningModule, Trainer
from transformers import Trainer as HubTrainer


def fit(net: LightningModule, data, amp):
    trainer = Trainer(max_epochs=3)
    with torch.autocast("cuda", dtype=torch.float16):
        trainer.fit(net, data)  # expect: AMP609
    with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
        trainer.fit(net, data)  # expect: AMP609 likely


class Own(HubTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return model(**inputs).loss


@torch.autocast("cuda")
def hub(model, data):
    return Own(model=model, train_dataset=data).train()  # expect: AMP609
