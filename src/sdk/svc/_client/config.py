"""Settings of the client: arguments, environment variables, the command line's config file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional
from urllib.parse import urlsplit

from .address import is_loopback
from .errors import ConfigError
from .project import project_name, project_root
from .yaml_scalar import scalar_of

#: The default server: the embedded one.
DEFAULT_API_SERVER = "http://127.0.0.1:5757"

_ENTRY = re.compile(r"""( *)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?:[^\s#"'&*!|>%@`{}\[\],?:-]|[-?:][^\s])(?:(?!\s#|:\s).)*?):(?:[ \t]+(.*))?\Z""")

@dataclass(frozen=True)
class ClientSettings:
    """The settings of a client. Missing texts are None; the API server always has a value."""

    client_id: str
    client_secret: str = field(repr=False)
    api_server: str
    query_server: Optional[str] = None
    environment: Optional[str] = None
    #: The project of the folder that the client runs in.
    project: Optional[str] = None


def client_settings(
    client_id: Optional[str],
    client_secret: Optional[str],
    environment: Optional[str],
    api_server: Optional[str],
    env: Optional[Mapping[str, str]] = None,
) -> ClientSettings:
    """The settings, each from the first source that has it: the argument, the environment variable,
    the config file's entry that SVC_PROFILE names, or else its entry of the project around the
    working directory, and ``default``. In a project's folder an environment that was chosen outside
    of all folders by its id is not meant: it is of one project. Raises ConfigError.
    """
    surroundings = os.environ if env is None else env
    root = project_root()
    path: Optional[str] = None
    entries: list[dict[str, str]] = []
    if not (client_id and client_secret):
        path = config_file(surroundings)
        tokens = read_config(path) if path else {}
        keys = _entry_keys(surroundings, tokens, path, root)
        entries = [tokens[key] for key in keys]
        if root is not None and not surroundings.get("SVC_PROFILE"):
            entries = [entry if key == root else _without_environment_id(entry) for key, entry in zip(keys, entries)]
        kept = next((key for key in keys if tokens[key].get("clientSecret") or tokens[key].get("clientSecretIn")), None)
        if path and kept and tokens[kept].get("clientSecretIn") and not (client_secret or surroundings.get("SVC_CLIENT_SECRET")):
            client_secret = _secret_in_keychain(path, kept, surroundings)

    def find(given: Optional[str], variable: str, key: str) -> tuple[Optional[str], str]:
        if given:
            return given, "an argument"
        if surroundings.get(variable):
            return surroundings[variable], variable
        for entry in entries:
            if entry.get(key):
                return entry[key], str(path)
        return None, ""

    found_id, _ = find(client_id, "SVC_CLIENT_ID", "clientId")
    secret, _ = find(client_secret, "SVC_CLIENT_SECRET", "clientSecret")
    if found_id is None or secret is None:
        missing = "client_id" if found_id is None else "client_secret"
        places = f"SVC_{missing.upper()} is not set, and {f'{path} has none' if path else 'there is no config file'}"
        raise ConfigError(f"SvcClient has no {missing}: it was given none, {places}; run `svc login`, or pass {missing}=")
    server, server_from = find(api_server, "SVC_API_SERVER", "apiServer")
    chosen_environment, _ = find(environment, "SVC_ENVIRONMENT", "activeEnvironment")
    # A query server belongs to the API server that is named beside it, or further down.
    query_server, query_from = (None, "") if server_from == "an argument" else find(None, "SVC_QUERY_SERVER", "queryServer")
    if query_from == path and server_from == "SVC_API_SERVER":
        query_server = None
    return ClientSettings(
        found_id,
        secret,
        normalize_address(server, server_from) if server else DEFAULT_API_SERVER,
        normalize_address(query_server, query_from) if query_server else None,
        chosen_environment,
        project_name(root, surroundings) if root is not None else None,
    )


def is_environment_id(environment: Optional[str]) -> bool:
    """Whether a text is the id of an environment, and not its name."""
    return environment is not None and environment.startswith("env_")


def _without_environment_id(entry: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in entry.items() if key != "activeEnvironment" or not is_environment_id(value)}


def _entry_keys(env: Mapping[str, str], tokens: Mapping[str, Any], path: Optional[str], root: Optional[str]) -> list[str]:
    """The keys of the config file's entries that count, the first one before the others."""
    profile = env.get("SVC_PROFILE")
    if not profile:
        return [key for key in (root, "default") if key is not None and key in tokens]
    if profile not in tokens:
        place = path or "the config file, which does not exist"
        raise ConfigError(f"SVC_PROFILE names the profile {profile!r}, which is not in {place}; `svc config profiles` lists those that there are")
    return [profile]


def _secret_in_keychain(path: str, key: str, env: Mapping[str, str]) -> str:
    """The client secret of an entry of the config file that the system's keychain has. The program
    ``svc`` reads it, of PATH or else of the place where it is installed.
    """
    import shutil
    import subprocess

    home = env.get("HOME") or os.path.expanduser("~")
    program = shutil.which("svc", path=env.get("PATH")) or shutil.which("svc", path=os.path.join(home, ".svc", "bin"))
    where = f"the client secret of {key!r} in {path} is in the keychain of this system"
    if program is None:
        raise ConfigError(f"{where}, and the program svc, which reads it there, is not found on PATH; set SVC_CLIENT_SECRET")
    try:
        done = subprocess.run(
            [program, "__client-secret", path, key], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=dict(env)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{where}, and {program} did not read it: {error}") from None
    if done.returncode != 0 or not done.stdout.strip():
        raise ConfigError(f"{where}, and {program} did not read it: {done.stderr.strip() or 'no reason was given'}")
    return done.stdout.strip()


def normalize_address(given: str, source: str) -> str:
    """An address in full, without a slash at the end: ``example.com`` is ``https://example.com``,
    ``localhost:5757`` is ``http://localhost:5757``. Raises ConfigError.
    """
    text = given.strip()
    if not re.match(r"[a-z][a-z0-9+.-]*://", text, re.IGNORECASE):
        host = re.split(r"[/?#]", text)[0]
        bare = host if host.startswith("[") and host.endswith("]") else host.rpartition(":")[0] or host
        text = f"{'http' if is_loopback(bare) else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ConfigError(f"{given!r} ({source}) is no server address; write it as https://host, or host:port") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", text):
        raise ConfigError(f"{given!r} ({source}) is no server address; write it as https://host, or host:port")
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(f"the server address from {source} holds more than scheme, host, port and path")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"


def config_file(env: Mapping[str, str]) -> Optional[str]:
    """The config file that the command line would read; None when there is none."""
    home = (env.get("HOME") if os.name != "nt" else None) or os.path.expanduser("~")
    xdg = env.get("XDG_CONFIG_HOME")
    stems = (
        [os.path.join(xdg, "svc"), os.path.join(xdg, ".svc")]
        if xdg
        else [os.path.join(home, ".config", "svc"), os.path.join(home, ".svc"), os.path.join(home, ".config")]
    )
    paths = [stem + extension for stem in stems for extension in (".yml", ".yaml")]
    return next((path for path in paths if os.path.isfile(path)), None)


def read_config(path: str) -> dict[str, dict[str, str]]:
    """The entries of a config file by project root. It reads the YAML that ``svc login`` writes:
    maps below ``tokens``, one ``key: value`` a line. Raises ConfigError with file and line for
    anything else.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().replace("\r\n", "\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the config file {path} cannot be read: {error}") from None
    tokens: dict[str, dict[str, str]] = {}
    indents: list[int] = []
    trail: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#") or line.rstrip() in ("---", "{}"):
            continue
        match = _ENTRY.match(line.rstrip())
        if match is None:
            raise _unreadable(path, number)
        indent, name, value = len(match.group(1)), _scalar(match.group(2), path, number), (match.group(3) or "").strip()
        while indents and indents[-1] >= indent:
            indents.pop()
            trail.pop()
        if not indents and indent != 0 or len(indents) > 2:
            raise _unreadable(path, number)
        indents.append(indent)
        trail.append(name)
        empty = not value or value.startswith("#") or value.split(" #")[0].strip() in ("{}", "null", "~")
        if trail[0] != "tokens":
            continue
        if len(trail) == 2:
            if not empty:
                raise _unreadable(path, number)
            tokens.setdefault(name, {})
        elif len(trail) == 3 and not empty:
            tokens[trail[1]][name] = _scalar(value, path, number)
        elif len(trail) == 1 and not empty:
            raise _unreadable(path, number)
    return tokens


def _scalar(text: str, path: str, line: int) -> str:
    found = scalar_of(text)
    if found is None:
        raise _unreadable(path, line)
    return found


def _unreadable(path: str, line: int) -> ConfigError:
    shape = "`tokens:`, below it an entry such as `default:`, below that `clientId: ...` and the like, one a line"
    return ConfigError(f"{path}:{line}: the Python client reads the form that `svc login` writes, {shape}; run `svc login`, or pass client_id=")
