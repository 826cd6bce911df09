"""A setting says to resume; the paths of both networks come from options."""

import torch


def train(generator, judge, options):
    first = 1
    if options.resume:
        states = torch.load(options.generator_path, map_location="cpu")
        judge_states = torch.load(options.judge_path, map_location="cpu")
        generator.load_state_dict(states["network"])
        judge.load_state_dict(judge_states["judge_network"])  # expect: KEY102 likely
        first = states["epoch"] + 1
    for epoch in range(first, options.epochs):
        torch.save({"epoch": epoch, "network": generator.state_dict()}, f"{options.folder}/g_{epoch}.pt")
        torch.save({"epoch": epoch, "network": judge.state_dict()}, f"{options.folder}/d_{epoch}.pt")
