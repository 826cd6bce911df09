"""Zeroed after the step, or every micro-batch is a window."""

from accelerate import Accelerator


def afterwards(model, optimizer, critic_optimizer, loader):
    helper = Accelerator(gradient_accumulation_steps=4)
    for batch in loader:
        with helper.accumulate(model):
            helper.backward(model(batch).mean())
            optimizer.step()
            optimizer.zero_grad()
            helper.backward(model(batch).sum())
            critic_optimizer.step()
            critic_optimizer.zero_grad()


def not_given(model, optimizer, loader):
    helper = Accelerator(mixed_precision="fp16")
    for batch in loader:
        with helper.accumulate(model):
            optimizer.zero_grad()
            helper.backward(model(batch).mean())
            optimizer.step()


def of_one(model, optimizer, loader):
    helper = Accelerator(gradient_accumulation_steps=1)
    for batch in loader:
        with helper.accumulate(model):
            optimizer.zero_grad()
            helper.backward(model(batch).mean())
            optimizer.step()


def of_another(model, optimizer, loader, meter):
    for batch in loader:
        with meter.accumulate(model):
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
