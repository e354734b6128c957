"""The conformance table by the Python clients: `python.py sync|async TABLE` prints one outcome per
request, as JSON. It knows no feature classes, as a program far from the project.
"""

import asyncio
import base64
import json
import math
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from svc.client import AsyncSvcClient, AuthenticationError, BulkQueryResult, OnlineQuery, QueryError, ServerUnreachable, SvcClient, UploadResult


def value_of(given: Any) -> Any:
    """A value of the table as Python has it."""
    if isinstance(given, list):
        return [value_of(item) for item in given]
    if not isinstance(given, dict):
        return given
    ((kind, content),) = given.items()
    makers = {
        "$int": int,
        "$float": float,
        "$bytes": base64.b64decode,
        "$date": date.fromisoformat,
        "$time": lambda text: datetime.fromisoformat(text.replace("Z", "+00:00")),
        "$duration": lambda text: timedelta(microseconds=int(text)),
        "$decimal": Decimal,
        "$set": set,
        "$struct": lambda fields: {name: value_of(field) for name, field in fields.items()},
        "$json": lambda value: value,
    }
    return makers[kind](content)


def printed(value: Any) -> Any:
    """A value of an answer as JSON that keeps its digits."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0) else {math.inf: "Infinity", -math.inf: "-Infinity", 0.0: "-0"}.get(value, "NaN")
    if isinstance(value, (list, tuple, set, frozenset)):
        return [printed(item) for item in value]
    if isinstance(value, dict):
        return {name: printed(item) for name, item in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        micros = value // timedelta(microseconds=1)
        return f"{'-' if micros < 0 else ''}{abs(micros) // 10**6}.{abs(micros) % 10**6:06}s"
    return str(value)


def without_nothing(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def errors_of(errors: Any) -> list[Any]:
    return [
        without_nothing(
            {
                "code": error.code,
                "category": error.category,
                "message": error.message,
                "feature": error.feature,
                "resolver": error.resolver,
                "kind": error.exception.kind if error.exception else None,
                "row": error.row,
            }
        )
        for error in errors
    ]


def outcome_of(result: Any) -> dict[str, Any]:
    if isinstance(result, list):
        return {"outcomes": [refusal_of(one) if isinstance(one, QueryError) else outcome_of(one) for one in result]}
    if isinstance(result, UploadResult):
        return {"stored": [result.rows, result.online_values, result.offline_values]}
    said: dict[str, Any] = {"errors": errors_of(result.errors), "inferred": list(result.meta.inferred_outputs)}
    said["explained"] = bool(result.meta.explain_output)
    said["traced"] = bool(result.meta.trace_id)
    if isinstance(result, BulkQueryResult):
        return {**said, "columns": {name: printed(values) for name, values in result.data.items()}}
    hits = {item.field: item.meta.cache_hit for item in result if item.meta}
    return {**said, "values": {item.field: printed(item.value) for item in result}, "hits": hits}


def refusal_of(error: Exception) -> dict[str, Any]:
    if isinstance(error, QueryError):
        return {"refused": "query", "errors": errors_of(error.errors)}
    return {"refused": "authentication" if isinstance(error, AuthenticationError) else "unreachable"}


def client_options(request: dict[str, Any]) -> dict[str, Any]:
    options = dict(request.get("client", {}))
    if "timeout_ms" in options:
        options["timeout"] = options.pop("timeout_ms") / 1000
    return options


def inputs_of(request: dict[str, Any]) -> dict[str, Any]:
    return {name: value_of(value) for name, value in request["inputs"].items()}


def call_of(client: Any, request: dict[str, Any]) -> Any:
    """The call of a client that a request is, or its coroutine."""
    inputs = inputs_of(request)
    if request["call"] == "multi":
        queries = [OnlineQuery(inputs_of(one), one.get("outputs", []), **one.get("options", {})) for one in request["queries"]]
        return client.query_multi(queries)
    if request["call"] == "upload":
        return client.upload_features(inputs, dry_run=request.get("dry_run", False))
    ask = client.query_bulk if request["call"] == "bulk" else client.query
    return ask(inputs, request["outputs"] if "outputs" in request else [], **request.get("options", {}))


def run_sync(table: list[Any]) -> list[Any]:
    outcomes = []
    with SvcClient() as shared:
        for request in table:
            options = client_options(request)
            client = SvcClient(**options) if options else shared
            try:
                outcomes.append(outcome_of(call_of(client, request)))
            except (AuthenticationError, QueryError, ServerUnreachable) as error:
                outcomes.append(refusal_of(error))
            finally:
                if options:
                    client.close()
    return outcomes


async def run_async(table: list[Any]) -> list[Any]:
    outcomes = []
    async with AsyncSvcClient() as shared:
        for request in table:
            options = client_options(request)
            client = AsyncSvcClient(**options) if options else shared
            try:
                outcomes.append(outcome_of(await call_of(client, request)))
            except (AuthenticationError, QueryError, ServerUnreachable) as error:
                outcomes.append(refusal_of(error))
            finally:
                if options:
                    await client.close()
    return outcomes


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        given = json.load(file)
    for outcome in asyncio.run(run_async(given)) if sys.argv[1] == "async" else run_sync(given):
        print(json.dumps(outcome))
