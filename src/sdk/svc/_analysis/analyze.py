"""The analyzer: imports a project, checks what it defines, and writes the graph.

    _boot.py analyze --root <folder> --out <path> [--files <list.json>] [--effects <path>]
        [--code <path>]

--root: the project's folder.
--files: a JSON array of the Python files, relative to the root; default: all below the root.
--out: where the graph goes as proto3 JSON of `svc.v1.Graph`: a path, `fd:<n>` or `-` for stdout.
--effects: path for the effects of the import (`_loading/effects.py`), as JSON.
--code: the file of compiled modules, read and written (`_loading/code_cache.py`), and the beginning
    of the name of that of outlines (`_diagnostics/source.py`).

The exit code is 0 whatever the project does, as long as the graph was written; until then a file
holds only the beginning of it. What the project prints goes to stderr.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from typing import Any, BinaryIO, Callable

from .._diagnostics import rules
from .._diagnostics.findings import Finding, Findings, Span, json_lines
from .._diagnostics.source import project_path, save_outlines, source_of, use_kept_outlines
from .._loading.code_cache import code_cache, use_code_cache
from .._loading.effects import Effects
from .._loading.load import few_collections, is_imported, load_project
from .._model.field_resolver import FieldResolver
from .._model.model_call import ModelDefinition
from .._model.registry import registry
from .._model.resolver import ResolverDefinition, ResolverSpec
from .._model.signature import compile_resolver
from .._model.template_resolver import TemplateDefinition
from .class_rules import check_class, distinct_classes
from .cron_rules import check_crons
from .evaluation_rules import check_evaluations
from .expression_reader import resolve_expressions
from .function_rules import check_functions
from .graph import graph_json
from .joins import resolve_joins
from .model_rules import check_model_call, check_model_options
from .monitor_rules import check_monitors
from .option_rules import check_hooks, check_unknown_options
from .query_rules import check_queries, check_sources
from .schedule_rules import check_scheduled_queries
from .spans import resolver_part_span, resolver_span, value_span
from .sink_rules import check_sinks
from .statements import read_statements
from .stream_rules import StreamSpec, check_streams
from .template_rules import check_template
from .translate import translate_all

#: Rules whose findings say that a module was not imported, so its definitions are unknown.
_LOST = (rules.InvalidSyntax.code, rules.ImportFailed.code, rules.ImportUnfinished.code, rules.UnknownSdkName.code)
#: Rules that such a module can make look broken elsewhere.
_MAYBE_LOST = (rules.NoJoin.code, rules.BadNamedQuery.code)


#: Bytes of the graph that are written at once, while the rest of it is still being made.
_PIECE_BYTES = 256 * 1024


def analyze(root: str, files: list[str]) -> dict[str, Any]:
    """The graph of a project as proto3 JSON, for `json_lines`. The root must be on `sys.path`."""
    found = Findings()
    with few_collections():
        for finding in load_project(root, files):
            found.add(finding)
        gc.disable()  # the process ends with the analysis, and what that makes is nearly all of use to its end
    report = _unless_lost(found, _lost_names(root, found))
    classes = distinct_classes(registry.classes, report)
    for item in classes:
        check_class(item, report)
    joins = resolve_joins(classes, report)
    expressions = resolve_expressions(classes, report)
    resolvers = check_resolvers(registry.definitions, report)
    streams = check_streams(registry.stream_definitions, registry.stream_calls, resolvers, report)
    own = [item for item in streams if isinstance(item, StreamSpec)]
    sinks = check_sinks(registry.sink_definitions, [*resolvers, *own], report)
    functions = check_functions(registry.function_definitions, report)
    crons = check_crons(resolvers, report)
    queries = check_queries(registry.named_queries, classes, report)
    schedules = check_scheduled_queries(registry.scheduled_queries, classes, report)
    monitors = check_monitors(registry.monitors, report)
    evaluations = check_evaluations(registry.evaluations, report)
    sources = check_sources(registry.sources, report)
    check_unknown_options(
        classes,
        registry.definitions,
        registry.hooks,
        (*registry.named_queries, *registry.scheduled_queries, *registry.monitors, *registry.evaluations),
        registry.sources,
        report,
    )
    hooks = check_hooks(registry.hooks, report)
    statements = read_statements(resolvers, report)
    translations = translate_all([spec for spec in resolvers if spec.fqn not in statements], _code_of(root, files))
    document = graph_json(
        classes,
        joins,
        expressions,
        resolvers,
        crons,
        translations,
        statements,
        queries,
        schedules,
        monitors,
        evaluations,
        sources,
        streams,
        sinks,
        functions,
        hooks,
        [],
    )
    document["diagnostics"] = [finding.json() for finding in found.sorted()]
    return document


def _code_of(root: str, files: list[str]) -> list[str]:
    """The Python files whose code runs in a deployment: those that it imports, and other files of
    the project that these import.
    """
    found = {os.path.join(os.path.realpath(root), *path.split("/")) for path in files if is_imported(path)}
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted(found | {path for path in loaded if isinstance(path, str) and path.endswith(".py") and project_path(path) is not None})


def _lost_names(root: str, found: Findings) -> set[str]:
    """Names of classes in modules that could not be imported: a reference to one of them is not at
    fault.
    """
    names: set[str] = set()
    for finding in found.found:
        source = source_of(os.path.join(os.path.realpath(root), *finding.span.file.split("/"))) if finding.span else None
        if source is not None:
            names |= source.defined_classes()
    return names


def _unless_lost(found: Findings, lost: set[str]) -> Callable[[Finding], None]:
    """A reporter that drops findings about classes whose module could not be imported."""
    failed = any(finding.code in _LOST for finding in found.found)

    def report(finding: Finding) -> None:
        if failed and finding.code in _MAYBE_LOST:
            return
        if finding.code == rules.UndefinedName.code and any(f"'{name}'" in finding.message for name in lost):
            return
        found.add(finding)

    return report


def check_resolvers(definitions: list[ResolverDefinition], report: Callable[[Finding], None]) -> list[ResolverSpec]:
    """The resolvers that make sense, one per FQN; findings for the others."""
    last = {(item.origin.filename, item.function_name, item.fqn): item for item in definitions}
    specs: dict[str, ResolverSpec] = {}
    for item in definitions:
        if last[item.origin.filename, item.function_name, item.fqn] is not item:
            continue
        if isinstance(item, ModelDefinition) and not check_model_options(item.field, item.call, report):
            continue
        if isinstance(item, TemplateDefinition) and not check_template(item.field, item.template, report):
            continue
        spec, problems = compile_resolver(item)
        for problem in problems:
            related: tuple[tuple[Span, str], ...] = ()
            if problem.related:
                part, name, words = problem.related
                related = ((resolver_part_span(item, part, name, ""), words),)
            error = problem.error
            span = (
                value_span(item.field, token=error.token)
                if isinstance(item, FieldResolver)
                else resolver_part_span(item, problem.part, problem.name, error.token, problem.node)
            )
            report(error.said.at(span, related=related, hint=error.hint))
        if spec is None:
            continue
        if isinstance(item, ModelDefinition):
            check_model_call(item.field, spec, report)
        first = specs.setdefault(spec.fqn, spec)
        if first is not spec:
            span = resolver_part_span(item, "option", "name", "") if item.options.name else resolver_span(item)
            first_span = resolver_span(first.definition)
            report(rules.DuplicateResolver.in_python(resolver=spec.fqn).at(span, related=((first_span, "first defined here"),)))
    return list(specs.values())


def _python_files(root: str) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found.extend(os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/") for name in files if name.endswith(".py"))
    return sorted(found)


def _opened(out: str, stdout: int) -> BinaryIO:
    if out == "-" or out.startswith("fd:"):
        return open(stdout if out == "-" else int(out[3:]), "wb", _PIECE_BYTES, closefd=False)
    return open(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", _PIECE_BYTES)


def main(argv: list[str]) -> int:
    """Runs the analyzer and ends the process itself, so that threads and exit handlers of the
    project cannot delay it.
    """
    parser = argparse.ArgumentParser(prog="_boot.py analyze")
    parser.add_argument("--root", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--files")
    parser.add_argument("--effects")
    parser.add_argument("--code")
    options = parser.parse_args(argv)
    root = os.path.realpath(options.root)
    out = options.out if options.out == "-" or options.out.startswith("fd:") else os.path.abspath(options.out)
    files = _read_json(options.files) if options.files else _python_files(root)
    stdout = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.chdir(root)
    use_code_cache(options.code)
    use_kept_outlines(f"{options.code}.outlines" if options.code else None)
    effects = Effects(out) if options.effects else None
    graph = analyze(root, files)
    with _opened(out, stdout) as stream:
        stream.writelines(json_lines(graph))
    if effects is not None:
        effects.stop()
        with _opened(os.path.abspath(options.effects), stdout) as stream:
            stream.writelines(json_lines(effects.json()))
    code_cache().save()
    save_outlines()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
    os._exit(0)


def _read_json(path: str) -> Any:
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)
