"""Where programs keep credentials: one table, from which the list of what is hidden is made."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from verifygate.base.regular_files import MIB, read_regular


class Keeper(NamedTuple):
    """A program that keeps credentials."""

    name: str
    home: str = ""
    """Files and folders below the home folder, separated by spaces."""
    variables: str = ""
    """Environment variables that name a file or folder, or several."""
    machine: str = ""
    """Files and folders of the machine, as patterns."""


KEEPERS = (
    Keeper("SSH", ".ssh", "SSH_AUTH_SOCK", "/etc/ssh/ssh_host_*_key"),
    Keeper("git", ".git-credentials .config/git/credentials .cache/git/credential .git-credential-cache"),
    Keeper("GitHub", ".config/gh .config/hub", "GH_CONFIG_DIR"),
    Keeper("GitLab", ".config/glab-cli .python-gitlab.cfg", "PYTHON_GITLAB_CFG"),
    Keeper("AWS", ".aws", "AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_WEB_IDENTITY_TOKEN_FILE"),
    Keeper("Google Cloud", ".config/gcloud", "GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG"),
    Keeper("boto and gsutil", ".boto .gsutil", "BOTO_CONFIG"),
    Keeper("Azure", ".azure", "AZURE_CONFIG_DIR AZURE_FEDERATED_TOKEN_FILE"),
    Keeper("Oracle Cloud", ".oci", "OCI_CLI_CONFIG_FILE"),
    Keeper("s3cmd and MinIO", ".s3cfg .mc", "MC_CONFIG_DIR"),
    Keeper("rclone", ".config/rclone", "RCLONE_CONFIG"),
    Keeper("Docker", ".docker", "DOCKER_CONFIG DOCKER_CERT_PATH"),
    Keeper("Podman", ".config/containers/auth.json", "REGISTRY_AUTH_FILE"),
    Keeper("Kubernetes", ".kube", "KUBECONFIG", "/var/run/secrets /run/secrets /etc/kubernetes /var/lib/kubelet"),
    Keeper("GnuPG and pass", ".gnupg .password-store", "GNUPGHOME PASSWORD_STORE_DIR"),
    Keeper("keyrings", ".local/share/keyrings .local/share/python_keyring .local/share/kwalletd"),
    Keeper("netrc", ".netrc _netrc", "NETRC"),
    Keeper("npm and yarn", ".npmrc .yarnrc.yml", "NPM_CONFIG_USERCONFIG"),
    Keeper("pip", ".pip .config/pip", "PIP_CONFIG_FILE", "/etc/pip.conf"),
    Keeper("PyPI", ".pypirc"),
    Keeper("uv", ".config/uv .local/share/uv/credentials", "UV_CONFIG_FILE"),
    Keeper("Poetry", ".config/pypoetry/auth.toml"),
    Keeper("Anaconda", ".continuum .config/binstar .config/anaconda"),
    Keeper("Cargo", ".cargo/credentials.toml .cargo/credentials"),
    Keeper("Vault", ".vault-token"),
    Keeper("Terraform", ".terraform.d/credentials.tfrc.json .terraformrc", "TF_CLI_CONFIG_FILE"),
    Keeper(
        "Hugging Face", ".cache/huggingface/token .cache/huggingface/stored_tokens .huggingface/token", "HF_TOKEN_PATH"
    ),
    Keeper("Weights & Biases", ".config/wandb .config/wandb-settings", "WANDB_CONFIG_DIR"),
    Keeper("Comet", ".comet.config", "COMET_CONFIG"),
    Keeper("ClearML", "clearml.conf trains.conf", "CLEARML_CONFIG_FILE"),
    Keeper("MLflow", ".mlflow/credentials"),
    Keeper("Kaggle", ".kaggle .config/kaggle", "KAGGLE_CONFIG_DIR"),
    Keeper("Modal", ".modal.toml", "MODAL_CONFIG_PATH"),
    Keeper("NGC", ".ngc"),
    Keeper("Lightning AI", ".lightning/credentials.json"),
    Keeper("RunPod, Lambda and Vast", ".runpod .lambda_cloud .vast_api_key .config/vastai"),
    Keeper("SkyPilot", ".sky"),
    Keeper("Replicate and OpenAI", ".config/replicate .openai .codex/auth.json"),
    Keeper("Anthropic", ".claude/.credentials.json .anthropic"),
    Keeper("Databricks", ".databrickscfg", "DATABRICKS_CONFIG_FILE"),
    Keeper("Snowflake", ".snowflake .config/snowflake", "SNOWFLAKE_HOME"),
    Keeper("PostgreSQL and MySQL", ".pgpass .my.cnf .mylogin.cnf", "PGPASSFILE"),
    Keeper("Kerberos", "", "KRB5CCNAME KRB5_KTNAME", "/etc/krb5.keytab /tmp/krb5cc_*"),
    Keeper("Streamlit", ".streamlit/secrets.toml"),
    Keeper("Jupyter", ".local/share/jupyter/runtime", "JUPYTER_RUNTIME_DIR"),
    Keeper("browsers", ".mozilla .config/google-chrome .config/chromium .config/BraveSoftware"),
    Keeper("password managers", ".config/op .config/keepassxc .config/sops"),
    Keeper(
        "histories",
        ".bash_history .zsh_history .sh_history .history .local/share/fish/fish_history .python_history "
        ".local/state/python/history .psql_history .mysql_history .rediscli_history .node_repl_history "
        ".lesshst .viminfo",
        "HISTFILE",
    ),
    Keeper("environment files", ".env .envrc"),
    Keeper(
        "the machine",
        machine="/etc/shadow /etc/gshadow /etc/NetworkManager/system-connections /var/lib/cloud/instances",
    ),
)
ENVIRONMENT_FILES = (".env", ".envrc")
_BASES = {"XDG_CONFIG_HOME": ".config/", "XDG_DATA_HOME": ".local/share/", "XDG_CACHE_HOME": ".cache/"}
"""Variables that move what is below these folders of the home folder."""
_OF_GIT = re.compile(r"^\s*extraheader\s*=.*$|(?<=://)[^/@\s]+@", re.IGNORECASE | re.MULTILINE)


def hidden(
    homes: Sequence[Path], environment: Mapping[str, str], root: Path, *, passed_on: Sequence[str] = ()
) -> tuple[str, ...]:
    """Every place to be hidden from the tests of a project, whether or not it is there.

    What a variable names that somebody passes on to the tests is none; nor is what the project lies in.
    """
    found = dict.fromkeys(place for keeper in KEEPERS for place in _places(keeper, homes, environment, passed_on))
    above = (folder / name for folder in root.parents for name in ENVIRONMENT_FILES)
    wanted = {*_named(environment, passed_on), root, *root.parents}
    return tuple(str(place) for place in (*found, *above) if place not in wanted)


def _places(
    keeper: Keeper, homes: Sequence[Path], environment: Mapping[str, str], passed_on: Sequence[str]
) -> Iterator[Path]:
    for name in keeper.home.split():
        yield from (home / name for home in homes)
        for variable, base in _BASES.items():
            if name.startswith(base) and environment.get(variable):
                yield Path(environment[variable], name.removeprefix(base))
    yield from _named(environment, [name for name in keeper.variables.split() if name not in passed_on])
    for pattern in keeper.machine.split():
        yield from Path("/").glob(pattern.lstrip("/")) if "*" in pattern else [Path(pattern)]


def _named(environment: Mapping[str, str], variables: Sequence[str]) -> Iterator[Path]:
    """What variables name; `FILE:` and `DIR:` go before the path in Kerberos' own."""
    for variable in variables:
        for part in environment.get(variable, "").removeprefix("FILE:").removeprefix("DIR:").split(os.pathsep):
            if Path(part).is_absolute():
                yield Path(part)


def without_credentials(git_folders: Sequence[Path]) -> dict[str, str]:
    """The configurations of git that hold credentials, by their path, without them.

    `actions/checkout` writes the token of the job into one; others are part of an address.
    """
    kept: dict[str, str] = {}
    for folder in git_folders:
        for file in (folder / "config", folder / "config.worktree") if folder.is_dir() else ():
            try:
                text = read_regular(file, MIB).decode("utf-8", "surrogateescape")
            except OSError:
                continue
            if _OF_GIT.search(text):
                kept[str(file)] = _OF_GIT.sub("", text)
    return kept
