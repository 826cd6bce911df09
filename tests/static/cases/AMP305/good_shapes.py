"""bfloat16, float32, dtypes nobody can tell, and inference."""

import torch


def bfloat16(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


def on_the_cpu(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu"):
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


def not_said(model, optimizer, batches, device, dtype):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast(device, dtype=dtype):
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()


def inference(model, batches):
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        return [model(batch) for batch in batches]


def evaluated_beside_training(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        scores = model(batches[0])
    return scores


def input_gradients(model, batch):
    """No optimizer steps on it."""
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(batch).mean()
    loss.backward()
    return batch.grad


def targets_of_a_teacher(model, teacher, loss_fn, optimizer, batches):
    for batch in batches:
        with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
            targets = teacher(batch)
        loss = loss_fn(model(batch), targets.float())
        loss.backward()
        optimizer.step()


def targets_without_their_past(model, teacher, loss_fn, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            targets = teacher(batch)
        fixed = targets.detach()
        loss = loss_fn(model(batch), fixed)
        loss.backward()
        optimizer.step()


def features_of_a_frozen_model(backbone, head, optimizer, batches):
    """All gradients are those of the head, in float32."""
    backbone.requires_grad_(False)
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            features = backbone(batch)
        features = features.float() * 0.18
        loss = head(features).mean()
        loss.backward()
        optimizer.step()


def a_number_of_a_teacher(model, teacher, optimizer, batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.float16):
            reference = teacher(batch).mean().item()
        loss = (model(batch) - reference).sum()
        loss.backward()
        optimizer.step()


def an_evaluation_between(model, examples, optimizer, batches):
    """Both regions give their results one name; only those of the second are differentiated."""
    for batch in batches:
        for example in examples:
            with torch.no_grad():
                with torch.autocast("cuda", dtype=torch.float16):
                    logits, loss = model(example)
                report(logits)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits, loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def report(logits):
    print(logits.shape)
