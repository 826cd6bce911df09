"""Fine-tunes a next-token model with explicit mixed precision: `python -m training.fine_tuning`."""

import torch
import torch.nn.functional as F

from training.environment import NextToken, VOCAB_SIZE, _setup_training_environment


def token_loss(model, tokens, device, use_amp):
    """Mean cross entropy of every token but the first."""
    with torch.autocast(device_type=device.type, dtype=torch.float16, enabled=use_amp):
        logits = model(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def train_epoch(model, env):
    """One pass over the training data; returns the mean loss."""
    device, scaler, optimizer = env["device"], env["scaler"], env["optimizer"]
    model.train()
    total = torch.zeros((), device=device)
    for (tokens,) in env["train_loader"]:
        tokens = tokens.to(device, non_blocking=True)
        loss = token_loss(model, tokens, device, env["use_amp"])
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        total += loss.detach()
        env["metrics_tracker"].overflows += int(not torch.isfinite(grad_norm))
    return float(total) / len(env["train_loader"])


@torch.no_grad()
def evaluate(model, env):
    """Mean loss over the validation data, in the precision of training."""
    model.eval()
    losses = [
        token_loss(model, tokens.to(env["device"]), env["device"], env["use_amp"]) for (tokens,) in env["val_loader"]
    ]
    return float(torch.stack(losses).mean())


def fine_tune(model, epochs=3, batch_size=16, use_amp=True):
    """Train for some epochs; returns the loss on the validation data after each."""
    env = _setup_training_environment(model, epochs, batch_size, use_amp)
    print(f"Training samples: {len(env['train_data'])}")
    print(f"Validation samples: {len(env['val_data'])}")
    history = []
    for epoch in range(epochs):
        train_loss = train_epoch(model, env)
        env["scheduler"].step()
        history.append(evaluate(model, env))
        env["metrics_tracker"].log_epoch(train_loss)
        print(f"epoch {epoch}: train {train_loss:.3f}, validation {history[-1]:.3f}")
    return history


if __name__ == "__main__":
    torch.manual_seed(0)
    fine_tune(NextToken(VOCAB_SIZE))
