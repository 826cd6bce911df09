"""What a region does not reach, and what half precision cannot hold."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn import functional

F16 = torch.float16


def region_for_another_device(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("xpu", dtype=F16):  # AMP105
            loss = w.model(batch).pow(2).mean()
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def teacher_on_another_device(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("xpu", dtype=F16):
            target = w.model(batch).detach()
        with torch.autocast("cpu", dtype=F16):
            loss = (w.model(batch).float() - target).pow(2).mean()
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loss_behind_the_region(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=F16):
            outputs = w.model(batch)
        loss = functional.mse_loss(outputs, torch.zeros(8, 1, dtype=F16))  # AMP110
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loss_that_is_promoted(w):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=F16):
            outputs = w.model(batch)
        loss = functional.mse_loss(outputs, torch.zeros(8, 1))
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def loss_of_an_evaluation(w):
    with torch.autocast("cpu", dtype=F16):
        outputs = w.model(w.batches[0])
    functional.mse_loss(outputs, torch.zeros(8, 1, dtype=F16)).item()  # AMP110
    w.scaler.scale(w.loss(w.batches[1])).backward()
    w.scaler.step(w.optimizer)
    w.scaler.update()


def mask_that_raises(w):
    with torch.autocast("cpu", dtype=F16):
        w.model(w.batches[0]).masked_fill(torch.ones(8, 1, dtype=torch.bool), -1e9)  # AMP403


def mask_that_is_silent(w):
    with torch.autocast("cpu", dtype=F16):
        scores = w.model(w.batches[0])
        torch.where(scores > 0, scores, -1e9)  # AMP403


def assigned_by_a_mask(w):
    with torch.autocast("cpu", dtype=F16):
        scores = w.model(w.batches[0]).detach()
        scores[scores > 0] = -1e9  # AMP403


def assigned_to_a_slice(w):
    def hide(scores, first, value=-100_000):
        scores[first:, :] = value  # AMP403
        return scores

    with torch.autocast("cpu", dtype=F16):
        hide(w.model(w.batches[0]).clone(), 4)


def assigned_and_held(w):
    with torch.autocast("cpu", dtype=F16):
        scores = w.model(w.batches[0]).detach()
        scores[scores > 0] = torch.finfo(scores.dtype).min
        scores[0] = float("-inf")
        wide = scores.float()
        wide[scores > 0] = -1e9
        torch.zeros(8)[2:] = 1e9


def masks_that_hold(w):
    with torch.autocast("cpu", dtype=F16):
        scores = w.model(w.batches[0])
        scores.masked_fill(scores > 0, torch.finfo(scores.dtype).min)
        torch.where(scores > 0, scores, float("-inf"))
        scores.float().masked_fill(scores > 0, -1e9)
        torch.where(scores > 0, scores.float(), -1e9)


def mask_outside(w):
    torch.zeros(2).masked_fill(torch.ones(2, dtype=torch.bool), -1e9)


def forward_in_a_thread(w):
    with torch.autocast("cpu", dtype=F16):
        worker = threading.Thread(target=w.model, args=(w.batches[0],))
        worker.start()  # AMP107
        worker.join()


def forward_in_a_pool(w):
    with ThreadPoolExecutor(1) as pool, torch.autocast("cpu", dtype=F16):
        pool.submit(w.model, w.batches[0]).result()  # AMP107


def forward_with_a_region_of_its_own(w):
    with ThreadPoolExecutor(1) as pool, torch.autocast("cpu", dtype=F16):
        pool.submit(w.loss, w.batches[0]).result()


def pool_that_began_in_a_region(w):
    with ThreadPoolExecutor(1) as pool:
        with torch.autocast("cpu", dtype=F16):
            pool.submit(int).result()
        pool.submit(w.model, w.batches[0]).result()


def _by_hand(w, loss):
    for batch in w.batches:
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=F16):
            outputs = w.model(batch)
        w.scaler.scale(loss(outputs)).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def squares_by_hand(w):
    _by_hand(w, lambda outputs: (outputs**2).mean())  # AMP110


def likelihood_by_hand(w):
    def likelihood(outputs):
        shares = torch.softmax(outputs, dim=0)  # AMP110
        return -torch.log(shares[0]).sum()

    _by_hand(w, likelihood)


def norm_by_hand(w):
    _by_hand(w, lambda outputs: torch.norm(outputs - outputs.detach().mean() / 2))  # AMP110


def by_hand_in_float32(w):
    _by_hand(w, lambda outputs: (outputs.float() ** 2).mean() + outputs.float().exp().sum())


def by_hand_beside_the_loss(w):
    def loss(outputs):
        outputs.softmax(0).log().sum()  # what is looked at is no part of the loss
        outputs.square().mean().item()
        return outputs.float().pow(2).mean()

    _by_hand(w, loss)


def pooled_by_hand(w):
    _by_hand(w, lambda outputs: outputs.view(2, 4).mean(1).float().pow(2).mean())


def losses_of_an_evaluation_without_gradients(w):
    with torch.no_grad(), torch.autocast("cpu", dtype=F16):
        outputs = w.model(w.batches[0])
    with torch.inference_mode():
        functional.l1_loss(outputs, torch.zeros(8, 1, dtype=F16))  # AMP110
        functional.mse_loss(outputs.float(), torch.zeros(8, 1))


def evaluation_with_its_loss_in_the_region(w):
    with torch.no_grad(), torch.autocast("cpu", dtype=F16):
        functional.l1_loss(w.model(w.batches[0]), torch.zeros(8, 1, dtype=F16))


def half_that_no_region_made(w):
    outputs = w.batches[0].half()
    functional.l1_loss(outputs, torch.zeros(8, 4, dtype=F16))


def _penalised(w, slope_of, scale=None):
    for batch in w.batches:
        real = batch.clone().requires_grad_()
        w.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=F16):
            score = torch.tanh(w.model(real))
        slope = slope_of(score, real)
        loss = (slope.float().norm(dim=1) - 1).pow(2).mean() - score.float().mean()
        w.scaler.scale(loss).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def penalty_outside(w):
    def slope(score, real):
        return torch.autograd.grad(score.sum(), real, create_graph=True)[0]  # AMP205

    _penalised(w, slope)


def penalty_weighted_by_ones(w):
    def slope(score, real):
        ones = torch.ones_like(score)
        return torch.autograd.grad(  # AMP205
            outputs=score, inputs=real, grad_outputs=ones, create_graph=True, retain_graph=True
        )[0]

    _penalised(w, slope)


def penalty_of_each_sample(w):
    def slope(score, real):
        made = [torch.autograd.grad(one.squeeze(), real, create_graph=True)[0] for one in score]  # AMP205
        return sum(made)

    _penalised(w, slope)


def penalty_of_a_scaled_score(w):
    def slope(score, real):
        (made,) = torch.autograd.grad(w.scaler.scale(score.float().sum()), real, create_graph=True)
        return made / w.scaler.get_scale()

    _penalised(w, slope)


def penalty_weighted_by_the_scale(w):
    def slope(score, real):
        weights = torch.full_like(score, 1024.0)
        return torch.autograd.grad(score, real, grad_outputs=weights, create_graph=True)[0] / 1024.0

    _penalised(w, slope)


def penalty_in_float32(w):
    for batch in w.batches:
        real = batch.clone().requires_grad_()
        w.optimizer.zero_grad()
        score = torch.tanh(w.model(real))
        (slope,) = torch.autograd.grad(score.sum(), real, create_graph=True)
        with torch.autocast("cpu", dtype=F16):
            loss = w.model(batch).float().pow(2).mean()
        w.scaler.scale(loss + slope.pow(2).sum()).backward()
        w.scaler.step(w.optimizer)
        w.scaler.update()


def slope_that_is_only_looked_at(w):
    def slope(score, real):
        torch.autograd.grad(score.sum(), real, create_graph=True)[0].norm().item()
        return real.detach()

    _penalised(w, slope)


def _evaluated_by_hand(w, loss):
    """An evaluation of eight samples and four classes, whose outputs are float16."""
    model = torch.nn.Linear(4, 4)
    classes = torch.arange(8) % 4
    total = 0.0
    for batch in w.batches:
        with torch.no_grad():
            with torch.autocast("cpu", dtype=F16):
                outputs = model(batch)
            total += float(loss(outputs, classes))
    return total


def likelihood_of_an_evaluation_by_hand(w):
    def loss(outputs, classes):
        likely = torch.log_softmax(outputs, dim=-1)  # AMP110
        return -likely.gather(1, classes[:, None]).squeeze(1).mean()

    _evaluated_by_hand(w, loss)


def likelihood_of_an_evaluation_by_index(w):
    def loss(outputs, classes):
        likely = outputs.softmax(-1).log()  # AMP110
        return (-likely[range(8), classes]).sum().float() / 8

    _evaluated_by_hand(w, loss)


def likelihood_of_an_evaluation_in_float32(w):
    def loss(outputs, classes):
        return -torch.log_softmax(outputs.float(), dim=-1).gather(1, classes[:, None]).mean()

    _evaluated_by_hand(w, loss)


def likelihood_of_an_evaluation_in_the_region(w):
    for batch in w.batches:
        with torch.no_grad(), torch.autocast("cpu", dtype=F16):
            likely = torch.log_softmax(w.model[0](batch).float(), dim=-1)
            likely[range(8), torch.arange(8) % 4].mean().item()


def entropy_of_an_evaluation(w):
    def entropy(outputs, _):
        shares = outputs.softmax(-1)
        return -(shares * shares.log()).sum(-1).mean()

    _evaluated_by_hand(w, entropy)


def hits_of_an_evaluation(w):
    """The class that is likeliest is the same in half; and so is its share of one sample."""

    def hits(outputs, classes):
        likely = torch.log_softmax(outputs, dim=-1)
        likely.gather(1, classes[:, None])[0].item()
        return (likely.argmax(-1) == classes).float().mean()

    _evaluated_by_hand(w, hits)


def chosen_and_then_averaged_in_float32(w):
    def loss(outputs, classes):
        return -torch.log_softmax(outputs, -1).float().gather(1, classes[:, None]).mean()

    _evaluated_by_hand(w, loss)
