import torch


def update(model, batch, optimizer, scaler, unroll):
    if unroll.amp:
        with torch.autocast("cuda"):
            value, policy_logits, state = model.initial_inference(batch.inputs)
    else:
        value, policy_logits, state = model.initial_inference(batch.inputs)
    value_loss = unroll.value_loss(value, batch.values)  # expect: AMP110 likely
    policy_loss = -(torch.log_softmax(policy_logits, dim=1) * batch.policy).sum(1)  # expect: AMP110 likely
    optimizer.zero_grad()
    scaler.scale((value_loss + policy_loss).mean()).backward()
    scaler.step(optimizer)
    scaler.update()
    return state
