"""The contracts of torchtitan's TOML: which cell each key decides, and what is no job configuration."""

from __future__ import annotations

import pytest

from verifygate.configured_precision.drivers import Driver, Drivers
from verifygate.sources.configuration_file import ConfigurationFile

TITAN = """
[job]
dump_folder = "out"
[model]
name = "llama3"
flavor = "8B"
[training]
steps = 10
"""


def drivers(files: dict[str, str]) -> list[Driver]:
    return Drivers(ConfigurationFile(path, data=text.encode()) for path, text in files.items()).all()


def cells(files: dict[str, str]) -> dict[str, str]:
    """Each row of the one driver: its value with path and line, or `?` and why there is none."""
    (driver,) = drivers(files)
    found = {}
    for row in driver.contract.rows[1:]:
        said = [f"{each.value} @{each.path}:{each.line}" for each in row.declared]
        found[row.aspect.value] = said[0] if said else f"? {row.not_followed[0].reason}"
    return found


def values(files: dict[str, str]) -> dict[str, str]:
    return {row: value.partition(" @")[0] for row, value in cells(files).items()}


def test_torchtitan_shards_float32_weights_and_computes_in_bfloat16() -> None:
    found = cells({"a.toml": TITAN + 'mixed_precision_param = "bfloat16"\n'})
    assert found["compute"] == "bfloat16 @a.toml:9"
    assert found["weights"] == found["gradients"] == found["optimizer state"] == "float32 @a.toml:1"
    assert found["reduction"] == "float32 @a.toml:1"
    assert found["master copy"] == "none: the trained weights are float32 @a.toml:1"
    assert found["export"] == "none: `checkpoint.enable` is off @a.toml:1"


@pytest.mark.parametrize(
    ("keys", "row", "value"),
    [
        ('dtype = "bfloat16"', "optimizer state", "bfloat16"),
        ('dtype = "bfloat16"', "master copy", "none"),
        ('dtype = "bfloat16"', "reduction", "float32"),
        ('dtype = "float16"', "weights", "? `training.dtype` takes float32 and bfloat16"),
        ('mixed_precision_reduce = "bfloat16"', "reduction", "? `training.mixed_precision_reduce` takes float32 only"),
        ("[parallelism]\ndata_parallel_shard_degree = 1", "reduction", "none: there is one process"),
        ("[parallelism]\ndata_parallel_shard_degree = 1\ntensor_parallel_degree = 8", "compute", "float32"),
        (
            "[parallelism]\ntensor_parallel_degree = 8",
            "compute",
            "bfloat16 where processes are left to shard over, else float32",
        ),
        (
            'dtype = "bfloat16"\n[parallelism]\ndata_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1',
            "reduction",
            "bfloat16",
        ),
        (
            'dtype = "bfloat16"\n[parallelism]\npipeline_parallel_degree = 2\ncontext_parallel_degree = 2',
            "accumulation",
            "float32",
        ),
        ("[checkpoint]\nenable = true", "export", "float32"),
        ('[checkpoint]\nenable = true\nexport_dtype = "float16"', "export", "float16"),
        ('[checkpoint]\nenable = true\nexport_dtype = "float16"\nlast_save_model_only = false', "export", "float32"),
        ('[optimizer]\nname = "Muon"', "optimizer state", "? this optimizer is none of torchtitan's own"),
    ],
)
def test_what_torchtitan_makes_of_a_key(keys: str, row: str, value: str) -> None:
    assert values({"a.toml": f"{TITAN}{keys}\n"})[row] == value


@pytest.mark.parametrize(
    ("converters", "compute"),
    [
        ('["quantize.linear.float8"]', "float8 in the linear layers; the rest bfloat16"),
        (
            '["quantize.grouped_mm.mx", "quantize.linear.mx"]',
            "mxfp8 in the linear layers and the experts; the rest bfloat16",
        ),
        ('["float8"]', "? this is the name of a converter of version 0.1"),
        ('["mine"]', "? these converters are not followed"),
    ],
)
def test_float8_is_a_converter_of_the_model(converters: str, compute: str) -> None:
    text = TITAN.replace('flavor = "8B"', f'flavor = "8B"\nconverters = {converters}')
    assert values({"a.toml": text})["compute"].startswith(compute)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        (
            "torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file a.toml --training.dtype=bfloat16",
            "run.sh",
        ),
        ("CONFIG_FILE=a.toml ./run_train.sh --training.dtype bfloat16", "run.sh"),
        ("\tpython -m torchtitan.train --job.config-file=a.toml --training.dtype=bfloat16", "Makefile"),
    ],
)
def test_a_launch_line_of_torchtitan_decides_over_the_file(line: str, file: str) -> None:
    found = cells({"a.toml": "[training]\nsteps = 1\n", file: line})
    assert found["weights"] == f"bfloat16 @{file}:1"


def test_toml_that_holds_such_words_is_no_job() -> None:
    project = '[project]\nname = "x"\n[tool.x]\nmodel = "flavor"\ntraining = "steps dump_folder"\n'
    data = '[model]\nflavor = "vanilla"\n[training]\nsteps = 3\n'
    assert drivers({"pyproject.toml": project, "ice.toml": data}) == []


def test_a_broken_toml_is_said_with_its_line() -> None:
    read = Drivers([ConfigurationFile("a.toml", data=f"{TITAN}dtype = bfloat16\n".encode())])
    assert read.all() == []
    assert (read.broken["a.toml"].line, str(read.broken["a.toml"])) == (9, "Invalid value")
