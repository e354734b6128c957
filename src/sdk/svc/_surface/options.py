"""Checks of the options of decorators and `feature(...)`, with the texts of finding 146."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Callable, Optional

from .._codec.wire import describe
from .._model.cron import Cron
from .._model.expression import Expression
from .._model.template import JinjaTemplate
from .names import (
    CRON_GRAMMAR,
    DURATION_GRAMMAR,
    ENVIRONMENT_GRAMMAR,
    cron_problem,
    format_duration,
    is_environment_name,
    is_feature_name,
    parse_duration,
)

Check = Callable[[str, Any], Optional[str]]

#: Most characters of a script that fills a database.
MAX_SCRIPT = 256 * 1024
#: Most partitions of a topic of the server.
MAX_PARTITIONS = 1_000
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_BROKER = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")


def check_staleness(option: str, value: Any) -> Optional[str]:
    """A duration, `infinity` included."""
    if parse_duration(value) is None:
        return f"{option} is {describe(value)}, which is not a duration: write {DURATION_GRAMMAR}"
    return None


def check_timeout(option: str, value: Any) -> Optional[str]:
    """A finite duration above zero."""
    micros = parse_duration(value)
    if micros is None:
        return f"{option} is {describe(value)}, which is not a duration: write one such as '200ms', '5s' or '1m30s'"
    if micros <= 0 or micros == math.inf:
        return f"{option} is {describe(value)}: a resolver needs a time limit above zero that ends, such as '200ms'"
    return None


def check_lateness(option: str, value: Any) -> Optional[str]:
    """A finite duration."""
    micros = parse_duration(value)
    if micros is None:
        return f"{option} is {describe(value)}, which is not a duration: write {DURATION_GRAMMAR}"
    return f"{option} is {describe(value)}: write one that ends, such as '1h'" if micros == math.inf else None


def check_schedule(option: str, value: Any) -> Optional[str]:
    """A duration above zero, or a cron expression."""
    micros = parse_duration(value)
    if micros is not None:
        if micros <= 0 or micros == math.inf:
            return f"{option} is {describe(value)}: a schedule needs {CRON_GRAMMAR}"
        return None
    if not isinstance(value, str):
        return f"{option} is {describe(value)}: a schedule needs {CRON_GRAMMAR}"
    problem = cron_problem(value)
    return f"{option} is {describe(value)}: {problem}; write {CRON_GRAMMAR}" if problem else None


def check_cron(option: str, value: Any) -> Optional[str]:
    """A schedule, or a `Cron` that has one."""
    return check_schedule(option, value.schedule if isinstance(value, Cron) else value)


def schedule_text(value: Any) -> str:
    """A schedule, or that of a `Cron`, as text."""
    if isinstance(value, Cron):
        return schedule_text(value.schedule)
    micros = parse_duration(value) if isinstance(value, timedelta) else None
    return str(value) if micros is None else format_duration(micros)


def check_environments(option: str, value: Any) -> Optional[str]:
    """One name, or several."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)) or not names:
        return f"{option} is {describe(value)}: write {ENVIRONMENT_GRAMMAR}, or a list of them"
    for name in names:
        if not is_environment_name(name):
            return f"{option} names {describe(name)}: write {ENVIRONMENT_GRAMMAR}"
    return None


def check_venv(option: str, value: Any) -> Optional[str]:
    """The name of a set of requirements."""
    return None if is_environment_name(value) else f"{option} is {describe(value)}: write a name under `venvs` of svc.yaml, such as 'model-1'"


def check_tags(option: str, value: Any) -> Optional[str]:
    """One text, or several."""
    tags = [value] if isinstance(value, str) else value
    if not isinstance(tags, (list, tuple, set, frozenset)):
        return f"{option} is {describe(value)}: write a list of texts such as ['team:risk', 'pii']"
    for tag in tags:
        if not isinstance(tag, str) or not tag.strip():
            return f"{option} holds {describe(tag)}: a tag is a text such as 'team:risk' or 'pii'"
    return None


def check_text(option: str, value: Any) -> Optional[str]:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        return f"{option} is {describe(value)}: write a text"
    return None


def check_script(option: str, value: Any) -> Optional[str]:
    """Statements of SQL, of bounded length."""
    problem = check_text(option, value)
    if problem is None and len(value) > MAX_SCRIPT:
        return f"{option} has {len(value):,} characters: write up to {MAX_SCRIPT:,}, or give the rows a file of SQLite"
    return problem


def check_topic(option: str, value: Any) -> Optional[str]:
    """The name of a topic, as Kafka allows it."""
    if not isinstance(value, str) or not _TOPIC.fullmatch(value) or value in (".", ".."):
        return f"{option} is {describe(value)}: a topic's name has letters, digits, '.', '_' and '-', at most 249 of them"
    return None


def check_partitions(option: str, value: Any) -> Optional[str]:
    """The number of a topic's partitions."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_PARTITIONS:
        return f"{option} is {describe(value)}: write a whole number from 1 to {MAX_PARTITIONS:,}"
    return None


def check_brokers(option: str, value: Any) -> Optional[str]:
    """Addresses of brokers, in a text with commas or a list; None means that others say them."""
    listed = list(value) if isinstance(value, (list, tuple)) else value.split(",") if isinstance(value, str) else None
    if value is None or listed and all(isinstance(broker, str) and _BROKER.fullmatch(broker.strip()) for broker in listed):
        return None
    return f"{option} is {describe(value)}: write 'host:port', with commas or in a list where there are several"


def check_choice(option: str, value: Any, choices: Sequence[str]) -> Optional[str]:
    """One of some texts, or None."""
    if value is None or value in choices:
        return None
    return f"{option} is {describe(value)}: write one of {', '.join(choices)}"


def check_name(option: str, value: Any) -> Optional[str]:
    """A name that can stand between the dots of an FQN."""
    if not isinstance(value, str) or not is_feature_name(value):
        return f"{option} is {describe(value)}: a name begins with a letter and has letters, digits and '_' only, such as 'user_profile'"
    return None


def check_flag(option: str, value: Any) -> Optional[str]:
    """True or False."""
    return None if isinstance(value, bool) else f"{option} is {describe(value)}: write True or False"


def check_caching(evict: str) -> Check:
    """The check of True, False or the word for values that also take out older ones."""

    def check(option: str, value: Any) -> Optional[str]:
        return None if isinstance(value, bool) or value == evict else f'{option} is {describe(value)}: write True, False or "{evict}"'

    return check


def check_ttl(option: str, value: Any) -> Optional[str]:
    """A duration above zero, `infinity` included."""
    micros = parse_duration(value)
    if micros is None or micros <= 0:
        return f"{option} is {describe(value)}: write a duration above zero such as '30d' or '365d', or 'infinity'"
    return None


def check_expression(option: str, value: Any) -> Optional[str]:
    """An expression of `_`, or, of queries alone, a template."""
    if isinstance(value, JinjaTemplate) and option == "expression":
        return None
    return None if isinstance(value, Expression) else f"{option} is {describe(value)}: write an expression such as _.total - _.tax"


def check_options(checks: dict[str, Check], options: object) -> dict[str, str]:
    """The problems by option, as text; options that were not given have none."""
    problems = {}
    for option, check in checks.items():
        value = getattr(options, option)
        problem = None if value is None else check(option, value)
        if problem:
            problems[option] = problem
    return problems


#: Options that decide which fresh values are stored where.
STORING: dict[str, Check] = {
    "store_online": check_flag,
    "store_offline": check_flag,
    "cache_nulls": check_caching("evict_nulls"),
    "cache_defaults": check_caching("evict_defaults"),
    "offline_ttl": check_ttl,
    "etl_offline_to_online": check_flag,
}
CLASS_CHECKS: dict[str, Check] = {"name": check_name, "owner": check_text, "tags": check_tags, "max_staleness": check_staleness, **STORING}
FEATURE_CHECKS: dict[str, Check] = {**CLASS_CHECKS, "description": check_text, "primary": check_flag, "expression": check_expression, "offline_expression": check_expression, "deprecated": check_flag, "strict": check_flag}
RESOLVER_CHECKS: dict[str, Check] = {
    "tags": check_tags,
    "environment": check_environments,
    "timeout": check_timeout,
    "cron": check_cron,
    "owner": check_text,
    "name": check_name,
    "total": check_flag,
    "translate": check_flag,
    "resource_hint": lambda option, value: check_choice(option, value, ("cpu", "io")),
    "max_staleness": check_staleness,
    "venv": check_venv,
}
