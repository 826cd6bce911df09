"""float16 by default, and no scaler."""

import contextlib

import torch
from torch.cuda import amp


def deprecated(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        with amp.autocast():  # expect: AMP305
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


def by_device(model, optimizer, batches, use_amp):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=use_amp):  # expect: AMP305
            out = model(batch)
            loss = out.mean()
        (loss / 4).backward()
        optimizer.step()


def chosen(model, optimizer, batches, args):
    dtype = torch.bfloat16 if args.bf16 else torch.half
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype):  # expect: AMP305 likely
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


def by_the_name_of_a_precision(model, optimizer, batches, args):
    for batch in batches:
        with {  # expect: AMP305 likely
            "bf16": torch.autocast("cuda", dtype=torch.bfloat16),
            "fp16": torch.autocast("cuda", dtype=torch.float16),
            "fp32": contextlib.nullcontext(),
        }[args.precision]:
            loss = model(batch)
        loss.backward()
        optimizer.step()


def worked_out_after_the_region(model, optimizer, batches, steps):
    for batch, advantages in batches:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305
            log_probs = model(batch)
        policy_loss = -(log_probs * advantages).mean()
        loss = policy_loss / steps
        loss.backward()
        optimizer.step()


def beside_what_another_model_gives(model, student, optimizer, batches):
    """Which of the two has gradients is not seen here."""
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):  # expect: AMP305 likely
            given = model(batch)
        own = student(batch)
        loss = torch.nn.functional.mse_loss(own, given.float())
        loss.backward()
        optimizer.step()
