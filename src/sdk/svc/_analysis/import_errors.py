"""Findings for errors at import: rules 101, 102 and 103; 105 for a name that this version of the
SDK lacks, 142 for a feature that does not exist, and 134 for a truth test of an expression.
"""

from __future__ import annotations

import ast
import os
import platform
import re
import sys
import traceback
from types import FrameType
from typing import Iterable, Iterator, Optional

from .._diagnostics import rules
from .._diagnostics.findings import Finding, Span
from .._diagnostics.missing_variable import missing_variable
from .._diagnostics.source import Source, display_path, project_path, source_of
from .._surface.names import did_you_mean
from .._surface.public_names import missing_module, missing_name, modules, names_of
from .._types.annotations import attribute_error
from .truth_tests import is_truth_test, truth_test_finding

Frame = tuple[FrameType, int]
Keyed = tuple[tuple[object, ...], Finding]

_FRAMES = 5
#: Rules that explain a missing name better than the exception does.
_OF_NAMES = (rules.UnknownSdkName.code, rules.UnknownFunction.code, rules.UnknownFeature.code)
#: The number of a module's names that are listed when none is close.
_LISTED = 8
#: The beginning of a suggestion, here and in messages of newer Python versions.
_SUGGESTED = "Did you mean"
_BREAK_CIRCLE = "The modules import each other: import under 'if TYPE_CHECKING:' and put the annotations in quotes."
_NO_SOURCE = ("node_modules", "__pycache__", "site-packages")
_REQUIREMENTS = re.compile(r"^[^#\n]*\brequirements\s*:\s*[\"']?([^\"'#\n,}]+?)[\"']?\s*(?:[#,}].*)?$", re.MULTILINE)
#: Packages whose name differs from the module's.
_DISTRIBUTIONS = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "jwt": "PyJWT",
    "PIL": "Pillow",
    "psycopg2": "psycopg2-binary",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}


def explain(error: BaseException, path: str, root: str) -> Keyed:
    """The finding for an exception raised while `path` was imported, and a key that is equal for
    every occurrence of the same fault.
    """
    if isinstance(error, SyntaxError) and error.filename:
        inside = project_path(error.filename)
        if inside is not None:
            return _syntax(error, inside)
    if not error.__traceback__ or isinstance(error, (UnicodeDecodeError, MemoryError)) or _is_unparsed(error):
        said = rules.InvalidSyntax.not_python(path=path, problem=str(error) or type(error).__name__)
        return (said.code, path), said.at(Span(path, 1, 1, 1, 1))
    frames = _frames(error)
    inner = next((frame for frame in reversed(frames) if project_path(frame[0].f_code.co_filename)), None)
    file = project_path(inner[0].f_code.co_filename) or path if inner else path
    line = inner[1] if inner else 1
    source = source_of(os.path.join(root, *file.split("/")))
    is_innermost = bool(frames) and inner is frames[-1]
    circle = _circle(error, frames)
    finding = _describe(error, file, line, source, root, frames, is_innermost)
    return ("circle", circle) if circle else (file, line, type(error).__name__, finding.code, _message_of(error)), finding


def _circle(error: BaseException, frames: list[Frame]) -> frozenset[str]:
    """The files of modules that import each other, when that is the fault: the same files whichever
    module is imported first.
    """
    if not _is_circular(error):
        return frozenset()
    unfinished = _unfinished(error)
    files = [frame.f_code.co_filename for frame, _ in frames]
    return frozenset(files[files.index(unfinished) :] if unfinished in files else files)


def _unfinished(error: BaseException) -> Optional[str]:
    """The file of the module whose import has not finished."""
    return error.path if isinstance(error, ImportError) else getattr(getattr(error, "obj", None), "__file__", None)


def _is_circular(error: BaseException) -> bool:
    return isinstance(error, (ImportError, AttributeError)) and "partially initialized module" in str(error)


def explain_all(error: BaseException, path: str, root: str) -> list[Keyed]:
    """The findings for an exception, as `explain` gives one; a module that imports several names
    that the SDK lacks has one for each.
    """
    key, finding = explain(error, path, root)
    source = source_of(os.path.join(root, *finding.span.file.split("/"))) if finding.code == 105 and finding.span else None
    others = [item for _, item in missing_names(source) if item != finding] if source else []
    return [(key, finding), *((("missing", item.span, item.message), item) for item in others)]


def missing_names(source: Source) -> list[tuple[ast.stmt, Finding]]:
    """Finding 105 for every name and module of the SDK that a module imports and this version does
    not have, with the statement. Imports within `try:` are left out, since the module handles their
    failure.
    """
    tried = {id(inner) for node in ast.walk(source.tree) if isinstance(node, ast.Try) for inner in ast.walk(node)}
    known = modules()
    found: list[tuple[ast.stmt, Finding]] = []
    for node in ast.walk(source.tree):
        if id(node) in tried:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_foreign(alias.name, known):
                    found.append((node, rules.UnknownSdkName.no_module(problem=missing_module(alias.name)).at(_alias_span(source, alias))))
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            if _is_foreign(node.module, known):
                start = source.lines[node.lineno - 1].find(node.module, node.col_offset + 4)
                span = source.span_of_text(node.lineno, max(0, start), len(node.module))
                found.append((node, rules.UnknownSdkName.no_module(problem=missing_module(node.module)).at(span)))
            elif node.module in known and node.module != "svc.functions":
                offered = {*names_of(node.module), *(name.rpartition(".")[2] for name in known if name.startswith(f"{node.module}.")), "*"}
                for alias in node.names:
                    if alias.name not in offered and not alias.name.startswith("__"):
                        found.append(
                            (
                                node,
                                rules.UnknownSdkName.no_name(problem=missing_name(node.module, alias.name)).at(_alias_span(source, alias)),
                            )
                        )
    return found


def _is_foreign(module: str, known: list[str]) -> bool:
    """Whether a module's name is below `svc` and names neither a public nor a private module of the
    SDK.
    """
    return module.startswith("svc.") and module not in known and not module.startswith("svc._")


def _alias_span(source: Source, alias: ast.alias) -> Span:
    whole = source.span(alias)
    return source.span_of_text(whole.line, whole.column - 1, len(alias.name))


def _is_unparsed(error: BaseException) -> bool:
    return isinstance(error, (SyntaxError, ValueError, OSError)) and all(
        project_path(frame.f_code.co_filename) is None for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def _frames(error: BaseException) -> list[Frame]:
    """The frames of a traceback without those of the import system and of this package."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    kept = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        filename = frame.f_code.co_filename
        if not filename.startswith(("<frozen importlib", "<annotation>", here)) and not filename.endswith("importlib/__init__.py"):
            kept.append((frame, line))
    return kept


def _message_of(error: BaseException) -> str:
    text = "".join(traceback.format_exception_only(type(error), error)).strip().split("\n")[-1]
    if isinstance(error, ImportError) and error.path:
        text = text.replace(f" ({error.path})", "")
    elif _is_circular(error):
        text = text.replace(f" from {_unfinished(error)!r}", "")
    return text if len(text) <= 500 else text[:497] + "..."


def _syntax(error: SyntaxError, path: str) -> Keyed:
    line, column = error.lineno or 1, max(1, error.offset or 1)
    end_line, end_column = error.end_lineno or line, error.end_offset or 0
    if end_line < line or (end_line == line and end_column <= column):
        end_line, end_column = line, column + 1
    said = rules.InvalidSyntax.syntax(problem=error.msg, runtime=f"Python {platform.python_version()}")
    return (said.code, path), said.at(Span(path, line, column, end_line, end_column))


def _describe(
    error: BaseException, file: str, line: int, source: Optional[Source], root: str, frames: list[Frame], is_innermost: bool
) -> Finding:
    whole_line = source.span_of_line(line) if source else Span(file, line, 1, line, 1)
    place = f"{file}:{line}"
    if isinstance(error, SystemExit):
        hint = 'Put what only a script does below \'if __name__ == "__main__":\'.'
        return rules.ImportUnfinished.exits(file=file, said=_message_of(error), place=place).at(whole_line, hint=hint)
    if is_innermost and is_truth_test(error):
        return truth_test_finding(error, source, line, whole_line)
    span, label, hint = whole_line, "raised here", ""
    said = _message_of(error)
    if isinstance(error, AttributeError) and is_innermost:
        feature = attribute_error(error)
        span = _token(source, line, error.name) or span
        if feature.code in _OF_NAMES:
            return feature.said.at(span)
        if _is_circular(error):
            label, hint = "not there yet", _BREAK_CIRCLE
    elif isinstance(error, NameError) and is_innermost and error.name:
        span = _token(source, line, error.name) or span
        label, hint = "not defined", _undefined(error.name, line, source, root)
    elif isinstance(error, ImportError):
        missing = next((item for at, item in missing_names(source) if at.lineno <= line <= (at.end_lineno or 0)), None) if source else None
        if missing is not None:
            return missing
        span = _token(source, line, _imported_name(error)) or span
        label, hint = "cannot be imported", _import_advice(error, root)
    elif isinstance(error, TypeError) and is_innermost and "'module' object is not callable" in said and source and _takes_module(source):
        hint = "'features' of 'svc' is a module: write 'from svc.features import features'."
    elif (variable := missing_variable(error)) is not None:
        said = f"there is no environment variable {variable}"
        hint = f"Of the environment only what Python needs is handed on; SVC_WORKER_ENV={variable}, where the server is started and here, adds it."
    if hint.startswith(_SUGGESTED):
        said = said.partition(f". {_SUGGESTED}")[0]
    shown = "".join(f"\n{_frame_line(frame)}" for frame in frames[-_FRAMES:]) if len(frames) > 1 else ""
    return rules.ImportFailed.module(file=file, said=said, place=place, frames=shown, label=label).at(span, hint=hint)


def _takes_module(source: Source) -> bool:
    """Whether a module imports `features` from `svc`, where that name is the module, not the
    decorator.
    """
    imports = (node for node in ast.walk(source.tree) if isinstance(node, ast.ImportFrom) and node.module == "svc" and not node.level)
    return any(alias.name == "features" and not alias.asname for node in imports for alias in node.names)


def _frame_line(frame: Frame) -> str:
    code, line = frame[0].f_code, frame[1]
    source = source_of(code.co_filename) if project_path(code.co_filename) else None
    text = source.lines[line - 1].strip() if source and line <= len(source.lines) else ""
    return f"  {display_path(code.co_filename)}:{line} in {code.co_name}" + (f": {text}" if text else "")


def _nodes_on(source: Source, line: int) -> Iterator[ast.AST]:
    for node in ast.walk(source.tree):
        if getattr(node, "lineno", None) is not None and node.lineno <= line <= (node.end_lineno or 0):  # type: ignore[attr-defined]
            if isinstance(node, ast.alias) or node.end_lineno == line:  # type: ignore[attr-defined]
                yield node


def _token(source: Optional[Source], line: int, name: Optional[str]) -> Optional[Span]:
    if source is None or not name:
        return None
    for node in _nodes_on(source, line):
        if isinstance(node, ast.alias) and (node.name == name or node.name.startswith(f"{name}.")):
            whole = source.span(node)
            return source.span_of_text(whole.line, whole.column - 1, len(node.name))
    for node in _nodes_on(source, line):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level and f"{node.module}.".startswith(f"{name}."):
            start = source.lines[node.lineno - 1].find(node.module, node.col_offset + 4)
            return source.span_of_text(node.lineno, start, len(node.module)) if start >= 0 else None
    return source.span_of_token(_nodes_on(source, line), name)


def _imported_name(error: ImportError) -> Optional[str]:
    match = re.match(r"cannot import name '([^']+)'", str(error))
    return match.group(1) if match else error.name


def _undefined(name: str, line: int, source: Optional[Source], root: str) -> str:
    if source and name in source.defined_classes():
        return f"'{name}' is defined further down: put the annotation in quotes, \"{name}\"."
    for file, classes in _project_classes(root).items():
        if name in classes:
            module = file[:-3].replace("/", ".")
            return f"'{name}' is defined in {file}: add 'from {module} import {name}'."
    return _near(name, _visible_names(source)) if source else ""


def _near(name: str, known: Iterable[str]) -> str:
    """The closest of the known names as a sentence; empty when none is close."""
    near = did_you_mean(name, known)[2:]
    return near[:1].upper() + near[1:]


def _visible_names(source: Source) -> set[str]:
    names = set(source.defined_classes())
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
    return names


def _project_classes(root: str) -> dict[str, set[str]]:
    """Names of the classes of every module of the project, by file."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NO_SOURCE)
        for name in sorted(files):
            if name.endswith(".py"):
                source = source_of(os.path.join(folder, name))
                if source:
                    found[os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")] = source.defined_classes()
    return found


def _import_advice(error: ImportError, root: str) -> str:
    name = error.name or ""
    top = name.partition(".")[0]
    if _is_circular(error):
        return _BREAK_CIRCLE
    if not isinstance(error, ModuleNotFoundError):
        return _offered_instead(_imported_name(error) or "", name, root)
    if not top:
        return ""
    if os.path.isdir(os.path.join(root, top)) or os.path.isfile(os.path.join(root, f"{top}.py")):
        own = [file[:-3].replace("/", ".").removesuffix(".__init__") for file in _project_classes(root)]
        return f"The project has no module '{name}'{did_you_mean(name, own)}"
    package = _DISTRIBUTIONS.get(top, top)
    of_venvs = [file for file in venv_requirement_files(root) if _lists(os.path.join(root, file), package)]
    if of_venvs:
        return (
            f"'{package}' is listed in {' and '.join(of_venvs)}, the requirements of a venv alone: "
            f"import it inside of the functions with venv=, or add it to the environment's own requirements."
        )
    files = requirement_files(root)
    if not files:
        return f"Name a requirements file in svc.yaml ('requirements: requirements.txt') and add '{package}' to it."
    listing = [file for file in files if _lists(os.path.join(root, file), package)]
    if listing:
        return f"'{package}' is listed in {' and '.join(listing)} but does not bring a module '{top}'."
    return f"'{package}' is missing from {' and '.join(files)}: add it there."


def _offered_instead(wanted: str, module: str, root: str) -> str:
    """Advice on a name that a module lacks: where the name is, or which names of the module are
    close.
    """
    for file, classes in _project_classes(root).items():
        if wanted in classes:
            return f"'{wanted}' is defined in {file}: import it from '{file[:-3].replace('/', '.')}'."
    held = vars(sys.modules[module]) if module in sys.modules else {}
    offered = list(held.get("__all__", ())) or [name for name in held if not name.startswith("_")]
    return _near(wanted, offered) or (f"It has {', '.join(sorted(offered))}." if 0 < len(offered) <= _LISTED else "")


def requirement_files(root: str) -> list[str]:
    """The requirements files that the project file names, without those of venvs."""
    own, _ = _parted_at_venvs(_project_file(root))
    return list(dict.fromkeys(_REQUIREMENTS.findall(own)))


def venv_requirement_files(root: str) -> list[str]:
    """The requirements files of the venvs of the project file."""
    _, venvs = _parted_at_venvs(_project_file(root))
    return list(dict.fromkeys(_REQUIREMENTS.findall(venvs)))


def _parted_at_venvs(text: str) -> tuple[str, str]:
    """The lines of a project file that are not below a `venvs:`, and those that are."""
    parts: tuple[list[str], list[str]] = ([], [])
    above: Optional[int] = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.strip() and (above is None or indent <= above):
            above = indent if line.lstrip().startswith("venvs:") else None
        parts[above is not None].append(line)
    return "\n".join(parts[0]), "\n".join(parts[1])


def _project_file(root: str) -> str:
    for name in ("svc.yaml", "svc.yml"):
        try:
            with open(os.path.join(root, name), encoding="utf-8") as stream:
                return stream.read()
        except (OSError, UnicodeDecodeError):
            continue
    return ""


def _lists(path: str, package: str) -> bool:
    def normal(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    try:
        with open(path, encoding="utf-8") as stream:
            names = (re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line) for line in stream)
            return any(match is not None and normal(match.group(1)) == normal(package) for match in names)
    except (OSError, UnicodeDecodeError):
        return False
