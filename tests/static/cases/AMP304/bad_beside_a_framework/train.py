import torch
from accelerate import Accelerator
from lightning.fabric import Fabric


def in_the_code(model, optimizer, batches):
    accelerator = Accelerator(mixed_precision="bf16")
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches:
        loss = scaler.scale(model(batch).mean())
        accelerator.backward(loss)
        scaler.step(optimizer)
        scaler.update()


def by_a_configuration(model, optimizer, batches):
    accelerator = Accelerator()
    scaler = torch.amp.GradScaler("cuda")  # expect: AMP304 likely
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in batches:
        accelerator.backward(scaler.scale(model(batch).mean()))
        scaler.step(optimizer)
        scaler.update()


def in_float32(model, optimizer, batches):
    fabric = Fabric(precision="32-true")
    scaler = torch.amp.GradScaler("cuda")
    model, optimizer = fabric.setup(model, optimizer)
    for batch in batches:
        fabric.backward(scaler.scale(model(batch).mean()))
        scaler.step(optimizer)
        scaler.update()
