"""The files of a folder that `svc apply` would upload: what `.gitignore` and `.svcignore` files leave
out is left out, and so are files that look like secrets, unless a `.svcignore` names them with ``!``.
The rules are git's, as `src/project/ignore.ts` has them for the command line; a test compares the two.
"""

from __future__ import annotations

import os
import re
from typing import Callable, Iterator, NamedTuple, Optional, Sequence

_IGNORE_FILES = (".gitignore", ".svcignore")
_NEVER = re.compile(r"(?:\.git|__pycache__|\.venv|node_modules|.*\.pyc)\Z", re.DOTALL)
_LONGEST_PATTERN = 4096
#: Most bytes of an ignore file.
_LONGEST_FILE = 1 << 20

_SECRET_NAMES = re.compile(
    r"""\.env(?!.*\.(?:example|sample|template)\Z)
    | .*\.(?:pem|key|p12|pfx|jks|keystore|ppk|kubeconfig)\Z
    | id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub\Z)
    | (?:[._]netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|kubeconfig|\.svc\.ya?ml)\Z
    | .*credentials.*\.json\Z
    | .*service[-_]account.*\.json\Z""",
    re.VERBOSE,
)
_SECRET_PATHS = re.compile(r"(?:.*/)?(?:\.aws/credentials|\.docker/config\.json|\.kube/config|\.config/svc\.ya?ml)\Z")
_SECRET_FOLDERS = re.compile(r"(?:.*/)?\.(?:ssh|svc)/\Z")


class _Rule(NamedTuple):
    matches: Callable[[str], object]
    is_negated: bool
    #: Whether it takes something back in by name.
    is_named: bool


def looks_like_secret(path: str) -> bool:
    """Whether a file, or a folder (ending in ``/``), holds secrets by its name."""
    lower = path.lower()
    if lower.endswith("/"):
        return _SECRET_FOLDERS.match(lower) is not None
    return bool(_SECRET_PATHS.match(lower) or _SECRET_NAMES.match(lower.rpartition("/")[2]))


def listed_files(root: str, on_secret: Callable[[str], None], most: int) -> list[str]:
    """The files of a folder that are not left out, by their paths below it with ``/``, sorted.

    on_secret: is told of each file or folder that is left out because it looks like a secret.
    Raises OSError, and ValueError when there are more than `most`.
    """
    root = os.path.realpath(root)
    inside, rules = _rules_above(root)
    found: list[str] = []
    for path in _walk(root, inside, "", root, rules, (root,), on_secret):
        found.append(path)
        if len(found) > most:
            raise ValueError(f"{root} has more than {most} files that are not left out; a .svcignore in it names what is not needed")
    return sorted(found)


def _rules_above(root: str) -> tuple[str, list[_Rule]]:
    """The rules of the folders above, up to the top of the git work tree, and the root's path from
    there, with a slash at its end; none when they leave the root out.
    """
    folders = [root]
    while not os.path.lexists(os.path.join(folders[0], ".git")):
        above = os.path.dirname(folders[0])
        if above == folders[0]:
            return "", []
        folders.insert(0, above)
    if len(folders) == 1:
        return "", []
    inside = os.path.relpath(root, folders[0]).replace(os.sep, "/") + "/"
    rules: list[_Rule] = []
    for folder in folders[:-1]:
        below = os.path.relpath(folder, folders[0]).replace(os.sep, "/")
        rules += _rules_of(folder, "" if below == "." else f"{below}/")
    parts = inside.rstrip("/").split("/")
    if any(_is_ignored("/".join(parts[: at + 1]) + "/", rules) for at in range(len(parts))):
        return "", []
    return inside, rules


def _walk(
    root: str, inside: str, prefix: str, folder: str, above: Sequence[_Rule], trail: tuple[str, ...], on_secret: Callable[[str], None]
) -> Iterator[str]:
    """inside: path of the root from the top of the rules. trail: the real folders on the way, against
    links that form a cycle.
    """
    rules = [*above, *_rules_of(folder, inside + prefix)]
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path, full = prefix + entry.name, entry.path
        if not _is_text(entry.name):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if _is_left_out(path, is_folder, inside, rules, on_secret):
            continue
        if is_folder:
            yield from _walk(root, inside, f"{path}/", full, rules, (*trail, full), on_secret)
        elif entry.is_file(follow_symlinks=False):
            yield path
        elif entry.is_symlink():
            target = os.path.realpath(full)
            if not target.startswith(root.rstrip(os.sep) + os.sep) or not os.path.exists(target):
                continue
            below = os.path.relpath(target, root).replace(os.sep, "/")
            if _lies_among_secrets(below + ("/" if os.path.isdir(target) else "")) and not _is_named(inside + path, rules):
                on_secret(path)
            elif os.path.isfile(target):
                yield path
            elif os.path.isdir(target) and not any(one == target or one.startswith(target + os.sep) for one in trail):
                if not _is_left_out(path, True, inside, rules, on_secret):
                    yield from _walk(root, inside, f"{path}/", target, rules, (*trail, target), on_secret)


def _is_left_out(path: str, is_folder: bool, inside: str, rules: Sequence[_Rule], on_secret: Callable[[str], None]) -> bool:
    shown = path + ("/" if is_folder else "")
    if _NEVER.match(path.rpartition("/")[2]) or _is_ignored(inside + shown, rules):
        return True
    if looks_like_secret(shown) and not _is_named(inside + shown, rules):
        on_secret(shown)
        return True
    return False


def _is_ignored(path: str, rules: Sequence[_Rule]) -> bool:
    return next((not rule.is_negated for rule in reversed(rules) if rule.matches(path)), False)


def _is_named(path: str, rules: Sequence[_Rule]) -> bool:
    return any(rule.is_named and rule.matches(path) for rule in rules)


def _lies_among_secrets(path: str) -> bool:
    ends = [at + 1 for at, one in enumerate(path) if one == "/"]
    return any(looks_like_secret(path[:end]) for end in (*ends, len(path)))


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _rules_of(folder: str, prefix: str) -> list[_Rule]:
    """The rules of a folder's ignore files, for paths from the top of the rules.

    prefix: the folder's path from there, with a slash at its end, or empty.
    """
    rules = []
    for name in _IGNORE_FILES:
        for line in re.split(r"\r?\n", _text_of(os.path.join(folder, name)).removeprefix("\ufeff")):
            pattern = re.sub(r"(?<!\\) +\Z", "", line)
            if len(pattern) > _LONGEST_PATTERN or re.match(r"(?:#.*|!?/?)\Z", pattern, re.DOTALL):
                continue
            rule = _rule(pattern, prefix, name == ".svcignore")
            if rule is not None:
                rules.append(rule)
    return rules


def _text_of(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_LONGEST_FILE).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _rule(line: str, prefix: str, is_own: bool) -> Optional[_Rule]:
    is_negated = line.startswith("!")
    pattern = line[is_negated:]
    is_folder = pattern.endswith("/")
    body = pattern[:-1] if is_folder else pattern
    start = "" if "/" in body else "(?:.*/)?"
    glob = _glob(body.removeprefix("/"))
    if glob is None:
        return None
    # What a pattern matches is a folder, with a slash behind it, or anything.
    end = "/" if is_folder else "/?"
    found = re.compile(f"{re.escape(prefix)}{start}{glob}{end}", re.DOTALL)
    name = re.search(r"[^/]*/?\Z", line)
    is_named = is_own and is_negated and name is not None and any(one.isalnum() for one in name.group())
    return _Rule(found.fullmatch, is_negated, is_named)


def _glob(pattern: str) -> Optional[str]:
    """A regular expression for a pattern of git; None for one that matches nothing."""
    said, at = "", 0
    while at < len(pattern):
        rest = pattern[at:]
        one = rest[0]
        if (at == 0 or pattern[at - 1] == "/") and re.match(r"\*\*+(?:/|\Z)", rest):
            stars = len(rest) - len(rest.lstrip("*"))
            if len(rest) == stars:
                return said + ".+"
            said, at = said + "(?:.*/)?", at + stars + 1
        elif one == "*":
            stars = len(rest) - len(rest.lstrip("*"))
            said, at = said + "[^/]*", at + stars
        elif one == "?":
            said, at = said + "[^/]", at + 1
        elif one == "[":
            range_ = re.match(r"\[([!^]?)(\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]", rest, re.DOTALL)
            if range_ is None:
                return None
            said, at = said + _range(range_.group(1) != "", range_.group(2)), at + len(range_.group())
        elif one == "\\":
            if len(rest) == 1:
                return None
            said, at = said + re.escape(rest[1]), at + 2
        else:
            said, at = said + re.escape(one), at + 1
    return said


_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def _range(is_negated: bool, content: str) -> str:
    inner = ""
    for escaped, class_, plain in re.findall(r"\\(.)|\[:(\w+):\]|(.)", content, re.DOTALL):
        inner += _CLASSES.get(class_, "") if class_ else "-" if plain == "-" else re.escape(escaped or plain)
    try:
        re.compile(f"[{inner}]")
    except re.error:
        return "(?!)"
    return f"(?!/)[{'^' if is_negated else ''}{inner}]"
