"""What is read where nothing resumes may be anybody's checkpoint, and so may one of which no key is ours."""

import torch


def train(generator, judge, options):
    if not options.resume:
        weights = torch.load(options.pretrained, map_location="cpu")
        generator.load_state_dict(weights["params_ema"])
    for epoch in range(options.epochs):
        torch.save({"epoch": epoch, "network": generator.state_dict()}, f"{options.folder}/g_{epoch}.pt")


def refine(judge, options):
    if options.resume:
        weights = torch.load(options.judge_path, map_location="cpu")
        judge.load_state_dict(weights["params_ema"])
