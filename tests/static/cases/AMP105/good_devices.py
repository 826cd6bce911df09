"""Regions that follow the device, that the device switches, or whose device nobody wrote down."""

from contextlib import nullcontext

import torch


def follows_the_device(model, loss_fn, batches):
    device = torch.device("cuda" if torch.cuda.is_available() else "mps")
    model.to(device)
    for inputs, targets in batches:
        with torch.autocast(device.type, dtype=torch.float16):
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        loss.backward()


def falls_back_to_float32_on_the_cpu(model, loss_fn, batches):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device)
    for inputs, targets in batches:
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        loss.backward()


def switched_by_the_device(model, loss_fn, batches):
    device = torch.device("cuda:0" if torch.cuda.is_available() else "mps")
    use_amp = device.type == "cuda"
    model.to(device)
    for inputs, targets in batches:
        with torch.autocast("cuda", enabled=use_amp):
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        loss.backward()


def other_context_elsewhere(model, loss_fn, batches):
    device = "cuda" if torch.cuda.is_available() else "mps"
    context = torch.autocast("cuda") if device == "cuda" else nullcontext()
    for inputs, targets in batches:
        with context:
            loss = loss_fn(model(inputs.to(device)), targets.to(device))
        loss.backward()


def device_from_outside(model, loss_fn, batches, args):
    model.to(args.device)
    for inputs, targets in batches:
        inputs = inputs.to(args.device)
        with torch.autocast("cuda"):
            loss = loss_fn(model(inputs), targets)
        loss.backward()


def result_moved_afterwards(model, inputs, seen):
    with torch.autocast("cuda"):
        outputs = model(inputs)
    outputs = outputs.float().cpu()
    seen.append(outputs)
    return outputs


def result_moved_inside(model, loader):
    with torch.no_grad(), torch.autocast("cuda"):
        return [model(inputs).cpu() for inputs in loader]


def targets_kept_on_the_cpu(model, loader):
    kept = []
    with torch.no_grad(), torch.autocast("cuda"):
        for inputs, targets in loader:
            kept.append((model(inputs), targets.to("cpu")))
    return kept


def a_name_asked_for_text(model, loss_fn, batches, name="cuda"):
    where = "cuda" if name == "cuda" else "cpu"
    for inputs, targets in batches:
        with torch.autocast(device_type=where):
            loss = loss_fn(model(inputs.to(name)), targets.to(name))
        loss.backward()


def told_where_to_put_its_results(detector, loader):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    detector.collect_results(size=3, device="cpu")
    for batch in loader:
        inputs = [each["image"].to(device) for each in batch]
        with torch.no_grad(), torch.autocast("cuda"):
            outputs = detector(inputs)
        print(outputs)
