"""Dicts that what they are handed to fills: by another name, out of a collection, two calls away."""

import torch


def by_another_name(found: dict):
    same = found or {}
    same["ids"] = [1]


def out_of_a_collection(found: dict, other: dict):
    for each in (found, other):
        each["seen"] = True


def inside(found: dict):
    for part in found.values():
        part.update(width=4)


def by_merging(found: dict):
    found |= {"merged": 1}


def two_calls_away(found: dict):
    inside(found)
    by_another_name(found)


def by_turns(found: dict, turns: int):
    found["turns"] = turns
    if turns:
        the_other_turn(found, turns - 1)


def the_other_turn(found: dict, turns: int):
    if turns:
        by_turns(found, turns)


def main(model, batch):
    with torch.autocast("cuda"):
        model(batch)
    first = {"part": {"height": 3}}
    two_calls_away(first)
    second = {"a": 1}
    out_of_a_collection(second, {})
    third = {"b": 1}
    by_merging(third)
    zeroth: dict = {}
    by_turns(zeroth, 3)
    fourth = {"c": 1}
    the_other_turn(fourth, 3)
    return fourth["turns"], first["ids"], first["part"]["width"], second["seen"], third["merged"]
