"""The project of the folder that the client runs in, found and named as the command line does."""

from __future__ import annotations

import os
import re
from typing import Mapping, Optional

from .errors import ConfigError
from .yaml_scalar import scalar_of

_FILES = ("svc.yaml", "svc.yml")
#: The lines that may name the project; the first key goes before the second.
_NAMES = ("project", "name")
_ENTRY = re.compile(r"""(["']?)(project|name)\1[ \t]*:(?:[ \t]+(.*))?\Z""")
_NOTHING = re.compile(r"(?:null|Null|NULL|~)?\s*(?:#.*)?\Z")
#: Longest project file that is read, in bytes.
_LONGEST = 1024 * 1024


def project_root() -> Optional[str]:
    """The folder with a project file that the working directory is or lies in."""
    folder = os.path.abspath(os.getcwd())
    while True:
        if any(os.path.isfile(os.path.join(folder, name)) for name in _FILES):
            return os.path.realpath(folder)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def project_name(root: str, env: Mapping[str, str]) -> Optional[str]:
    """The name that the project file of a folder states. None when it states none, cannot be read,
    or is another user's, whom SVC_TRUSTED_PROJECTS does not trust. Raises ConfigError for a name in
    a form of YAML that only the command line reads.
    """
    path = next(path for path in (os.path.join(root, name) for name in _FILES) if os.path.isfile(path))
    if _is_foreign(path, env):
        return None
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read(_LONGEST).split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    stated: dict[str, Optional[str]] = {}
    for number, line in enumerate(lines, 1):
        match = _ENTRY.match(line.rstrip())
        if match is None:
            continue
        value = match.group(3) or ""
        is_longer = next((after for after in lines[number:] if after.strip() and not after.lstrip().startswith("#")), "").startswith((" ", "\t"))
        text = None if is_longer else "" if _NOTHING.match(value) else scalar_of(value)
        if text is None:
            raise ConfigError(f"{path}:{number}: the Python client reads the project's name on one line, such as `project: shop`; write it so")
        stated[match.group(2)] = text or None
    return next((stated[key] for key in _NAMES if stated.get(key) is not None), None)


def _is_foreign(path: str, env: Mapping[str, str]) -> bool:
    """Whether a project file, what it links to, or its folder is another user's; with sudo, the user
    who called it is no other.
    """
    folder = os.path.dirname(path)
    if not hasattr(os, "geteuid"):
        return False
    own = {0, os.geteuid()}
    if os.geteuid() == 0 and env.get("SUDO_UID", "").isdecimal():
        own.add(int(env["SUDO_UID"]))
    trusted = [entry for entry in env.get("SVC_TRUSTED_PROJECTS", "").split(os.pathsep) if entry]
    if "*" in trusted or os.path.realpath(folder) in map(os.path.realpath, trusted):
        return False
    return not {os.lstat(path).st_uid, os.stat(path).st_uid, os.stat(folder).st_uid} <= own
