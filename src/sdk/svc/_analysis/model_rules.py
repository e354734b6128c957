"""Rule 137, and 146 for options: features that a model computes."""

from __future__ import annotations

from typing import Any, Callable, Optional

from .._codec.coded import CodedType
from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError, Finding
from .._model.field import Field
from .._model.model_call import PLACEHOLDER, CompletionOptions, EmbedOptions, Message, ModelOptions
from .._model.resolver import ResolverSpec
from .._model.template import JinjaTemplate
from .._models.structure import NoSchema, json_schema
from .._surface.names import parse_duration
from .._surface.options import check_text
from .._types.data_type import DataType, type_name
from .._types.dtypes import value_type
from ..prompts import PromptResponse
from .spans import annotation_span, value_span

Report = Callable[[Finding], None]

_ROLES = ("system", "developer", "user", "assistant")
_MOST_MESSAGES = 100
_MOST_CHARACTERS = 100_000
_MOST_TIMEOUT = 5 * 60 * 1_000_000


def check_model_options(field: Field, options: ModelOptions, report: Report) -> bool:
    """Reports finding 146 for options that make no sense; whether there are none."""
    sound = True
    for option, check in _CHECKS.items():
        value = getattr(options, option, None)
        problem = None if value is None and option not in _NEEDED else check(option, value)
        if problem:
            sound = False
            report(rules.BadValue.option(problem=problem).at(value_span(field, option)))
    return sound


def check_model_call(field: Field, spec: ResolverSpec, report: Report) -> None:
    """Reports findings about the types of what a model is given and asked for."""
    options, dtype = field.options, field.type.dtype
    coded = next((item for item in spec.inputs if isinstance(item.python_type, CodedType)), None)
    if coded is not None:
        report(rules.BadCoding.asked(feature=field.fqn, input=coded.path).at(value_span(field)))
        return
    if isinstance(options, EmbedOptions):
        [item] = spec.inputs
        if item.dtype is not None and item.dtype.get("primitive") != "PRIMITIVE_TYPE_STRING":
            type = type_name(item.dtype)
            report(rules.BadModelCall.no_text(feature=field.fqn, input=item.path, type=type).at(value_span(field, "input")))
        if not _is_vector(dtype):
            report(rules.BadModelCall.no_vector(feature=field.fqn, type=type_name(dtype)).at(annotation_span(field)))
    elif isinstance(options, CompletionOptions):
        is_response = field.type.python_type is PromptResponse
        if not is_response and "struct" not in dtype and dtype.get("primitive") != "PRIMITIVE_TYPE_STRING":
            report(rules.BadModelCall.no_answer(feature=field.fqn, type=type_name(dtype)).at(annotation_span(field)))
            return
        structure = options.output_structure
        if structure is not None and not is_response:
            report(rules.BadModelCall.two_structures(feature=field.fqn, type=type_name(dtype)).at(value_span(field, "output_structure")))
            return
        try:
            if structure is not None:
                wanted = value_type(structure, field.owner_class.scope).dtype
                if "struct" not in wanted:
                    report(rules.BadModelCall.no_structure(structure=type_name(wanted)).at(value_span(field, "output_structure")))
                    return
                json_schema(wanted)
            elif "struct" in dtype and not is_response:
                json_schema(dtype)
        except NoSchema as error:
            span = annotation_span(field) if structure is None else value_span(field, "output_structure")
            report(rules.BadModelCall.no_schema(feature=field.fqn, type=error).at(span))
        except DefinitionError as error:
            report(error.said.at(value_span(field, "output_structure")))


def _is_vector(dtype: DataType) -> bool:
    return "list" in dtype and dtype["list"]["element"].get("primitive") == "PRIMITIVE_TYPE_FLOAT64" and not dtype["list"].get("set")


def _input(option: str, value: Any) -> Optional[str]:
    from .._model.reference import FeatureReference

    if callable(value) or isinstance(value, FeatureReference):
        return None
    return f"{option} is {describe(value)}: write a function that gives the feature with the text, such as lambda: Doc.text"


def _provider(option: str, value: Any) -> Optional[str]:
    return None if value == "openai" else f'{option} is {describe(value)}: the protocol of "openai" is the only one; url= says whom it is spoken with'


def _url(option: str, value: Any) -> Optional[str]:
    if isinstance(value, str) and value.startswith(("http://", "https://")):
        return None
    return f"{option} is {describe(value)}; write one such as 'https://api.example.com/v1'"


def _timeout(option: str, value: Any) -> Optional[str]:
    micros = parse_duration(value)
    if micros is not None and 0 < micros <= _MOST_TIMEOUT:
        return None
    return f"{option} is {describe(value)}; write a duration of at most 5m, such as '30s'"


def _whole(option: str, value: Any) -> Optional[str]:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 1_000_000
    return None if is_whole else f"{option} is {describe(value)}: write a whole number above zero"


def _temperature(option: str, value: Any) -> Optional[str]:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 2
    return None if is_number else f"{option} is {describe(value)}: write a number from 0 to 2"


def _messages(option: str, value: Any) -> Optional[str]:
    example = '[message(role="user", content="...")]'
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(item, Message) for item in value):
        return f"{option} is {describe(value)}: write a list of messages, such as {example}"
    if len(value) > _MOST_MESSAGES:
        return f"{option} has {len(value)} messages; write up to {_MOST_MESSAGES}"
    for item in value:
        if item.role not in _ROLES:
            return f"the role of a message is {describe(item.role)}: write one of {', '.join(map(repr, _ROLES))}"
        if callable(item.content):
            continue
        if isinstance(item.content, JinjaTemplate):
            problem = item.content.problem()
            if problem:
                return problem
            continue
        problem = check_text("content", item.content)
        if problem:
            return problem
        if len(item.content) > _MOST_CHARACTERS:
            return f"a message has {len(item.content)} characters; write up to {_MOST_CHARACTERS}"
        for path in PLACEHOLDER.findall(item.content):
            if not _is_path(path):
                return f"'{{{{ {path} }}}}' in a message names no feature: write one such as '{{{{ Review.body }}}}'"
    return None


def _is_path(path: str) -> bool:
    parts = path.split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


_CHECKS: dict[str, Callable[[str, Any], Optional[str]]] = {
    "model": check_text,
    "provider": _provider,
    "integration": check_text,
    "url": _url,
    "timeout": _timeout,
    "input": _input,
    "dimensions": _whole,
    "messages": _messages,
    "temperature": _temperature,
    "max_tokens": _whole,
}
#: Options for which None is no value.
_NEEDED = ("model", "provider", "timeout")
