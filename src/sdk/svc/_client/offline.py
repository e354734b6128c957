"""Offline queries: the values of features for many rows, each as of a time of its own."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from datetime import datetime
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlsplit

from .blocking import Blocking
from .errors import ClientError
from .frames import columns_of_table, plain_column
from .session import Call, Session
from .steps import Result, Steps, Work
from .tables import RemoteFile, TableFiles, fetch_file, optional_time
from .values import encode_of, feature_name, instant_text
from .waiting import wait_for_end

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Rows that are sent with the call; more of them are uploaded before.
_INLINE_ROWS = 50_000
_OPEN = ("queued", "working")


class OfflineQueryFailed(ClientError):
    """An offline query that failed or was cancelled; its `id` and `status` say which and how."""

    def __init__(self, message: str, id: str, status: str) -> None:
        super().__init__(message)
        self.id = id
        self.status = status


class OfflineQueryState:
    """What is known of an offline query, and the steps to know more."""

    def __init__(self, session: Session, call: Call, said: Mapping[str, Any]) -> None:
        self._session = session
        self._call = call
        self._path = f"/v1/offline-queries/{quote(str(said['id']), safe='')}"
        self.said = said
        self.files = TableFiles(session, f"the offline query {said['id']}", self._find)

    def refreshed(self) -> Steps[Mapping[str, Any]]:
        """What the server says now."""
        if self.said["status"] in _OPEN:
            self.said = yield from self._call("GET", self._path, None)
        return self.said

    def ended(self, timeout: Optional[float] = None) -> Steps[None]:
        """Waits for the end. Raises TimeoutError and OfflineQueryFailed."""
        id = str(self.said["id"])
        said = yield from wait_for_end(self.refreshed, _OPEN, f"the offline query {id}", timeout)
        status = said["status"]
        if status != "completed":
            raise OfflineQueryFailed(f"the offline query {id} {_how(status)}: {said['error'] or 'by somebody'}", id, status)

    def after_end(self, steps: Steps[Result]) -> Steps[Result]:
        """Waits for the end, and takes further steps then."""
        yield from self.ended()
        return (yield from steps)

    def cancel(self) -> Steps[None]:
        """Ends it. Raises ClientError when it has ended."""
        yield from self._call("POST", "/svc.v1.OfflineQueryService/CancelOfflineQuery", {"id": self.said["id"]})

    def rows(self) -> Steps[list[dict[str, Any]]]:
        """The rows by column as plain JSON has them."""
        said = yield from self._call("GET", f"{self._path}/table?format=json", None)
        with tempfile.TemporaryDirectory(prefix="svc-rows-") as folder:
            path = yield from fetch_file(self._session, RemoteFile.of(said), os.path.join(folder, "rows.jsonl"))
            read: list[dict[str, Any]] = yield Work(lambda: _read_lines(path))
            return read

    def _find(self) -> Steps[Sequence[RemoteFile]]:
        said = yield from self._call("GET", self._path, None)
        return [RemoteFile.of(file) for file in said["files"]]


def _read_lines(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


class OfflineQueryFacts:
    """The facts of an offline query."""

    def __init__(self, state: OfflineQueryState) -> None:
        self._state = state

    def _latest(self) -> Mapping[str, Any]:
        return self._state.said

    @property
    def id(self) -> str:
        """Its id."""
        return str(self._state.said["id"])

    @property
    def status(self) -> str:
        """``queued``, ``working``, ``completed``, ``failed`` or ``canceled``."""
        return str(self._latest()["status"])

    @property
    def dataset_id(self) -> str:
        """Id of the dataset that the answer is a revision of; empty until the rows are read."""
        return str(self._latest()["dataset_id"])

    @property
    def revision_id(self) -> str:
        """Id of that revision; empty until the rows are read."""
        return str(self._latest()["revision_id"])

    @property
    def total_rows(self) -> int:
        """Number of rows that were given; 0 until they are read."""
        return int(self._latest()["total_rows"])

    @property
    def done_rows(self) -> int:
        """Number of them that were worked off."""
        return int(self._latest()["done_rows"])

    @property
    def failed_rows(self) -> int:
        """Number of rows of which an output failed."""
        return int(self._latest()["failed_rows"])

    @property
    def late_values(self) -> int:
        """Number of sampled values that `as_known` would change, or has."""
        return int(self._latest()["late_values"])

    @property
    def created_at(self) -> datetime:
        """When it was begun."""
        made: datetime = optional_time(self._state.said["created_at"])
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, status={self._state.said['status']!r})"


class OfflineQuery(OfflineQueryFacts):
    """A query that was begun. The server goes on with it, whatever becomes of this object; what it
    says here is what the server says now.
    """

    def __init__(self, run: Blocking, state: OfflineQueryState) -> None:
        super().__init__(state)
        self._run = run

    def wait(self, timeout: Optional[float] = None) -> OfflineQuery:
        """Waits for the end and returns the query itself.

        timeout: seconds; without it there is no limit. Raises TimeoutError; the query goes on.
        Raises OfflineQueryFailed when it failed or was cancelled.
        """
        self._run(self._state.ended(timeout))
        return self

    def cancel(self) -> None:
        """Ends it; nothing of its answer stays. Raises ClientError when it has ended."""
        self._run(self._state.cancel())

    def to_arrow(self) -> pyarrow.Table:
        """Waits, and gives the table by pyarrow."""
        return self._run(self._state.after_end(self._state.files.to_arrow()))

    def to_pandas(self) -> pandas.DataFrame:
        """Waits, and gives the table as a DataFrame of pandas, which needs pyarrow too."""
        return self._run(self._state.after_end(self._state.files.to_pandas()))

    def to_polars(self) -> polars.DataFrame:
        """Waits, and gives the table as a DataFrame of polars."""
        return self._run(self._state.after_end(self._state.files.to_polars()))

    def rows(self) -> list[dict[str, Any]]:
        """Waits, and gives the rows by column as plain JSON has them, with no other package: times
        are texts, bytes base64.
        """
        return self._run(self._state.after_end(self._state.rows()))

    def download(self, folder: str = ".", *, include_givens: bool = False) -> list[str]:
        """Waits, downloads the files into a folder and returns their paths."""
        return self._run(self._state.after_end(self._state.files.download(folder, include_givens)))

    def _latest(self) -> Mapping[str, Any]:
        return self._run(self._state.refreshed())


def _how(status: str) -> str:
    return "failed" if status == "failed" else "was cancelled"


def begin(session: Session, call: Call, input: Any, times: Any, body: dict[str, Any]) -> Steps[OfflineQueryState]:
    """Begins a query; many rows are uploaded first. Raises ClientError, TypeError and ValueError."""
    columns = input_columns(input)
    if columns:
        said = input_times(times)
        rows = max([len(values) for values in columns.values()] + [len(said)])
        if rows <= _INLINE_ROWS:
            body["inputs"] = columns
            body["input_times"] = said
        else:
            lines = "\n".join(_lines(columns, said, rows)).encode("utf-8")
            body["file"] = {"upload_id": (yield from _upload(session, call, lines)), "format": "json"}
            if len(said) == 1:
                body["input_times"] = said
    elif times is not None:
        body["input_times"] = input_times(times)
    begun = yield from call("POST", "/v1/offline-queries", {name: value for name, value in body.items() if value})
    return OfflineQueryState(session, call, begun)


def input_columns(given: Any) -> dict[str, list[Any]]:
    """The columns of rows: of a mapping from features to values, of a list of rows, or of a table
    of pandas, polars or pyarrow.
    """
    if given is None:
        return {}
    table = columns_of_table(given)
    if table is not None:
        given = table
    elif isinstance(given, (list, tuple)):
        names = list(dict.fromkeys(feature for row in given for feature in row))
        odd = next((at for at, row in enumerate(given) if any(name not in row for name in names)), None)
        if odd is not None:
            raise ValueError(f"row {odd} of the input lacks a feature that others have")
        given = {name: [row[name] for row in given] for name in names}
    if not isinstance(given, Mapping):
        raise TypeError(f"input is lists of values by feature, a list of rows or a table, not {type(given).__name__}")
    found: dict[str, list[Any]] = {}
    for feature, values in given.items():
        if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
            raise TypeError(f"offline_query takes a list of values per input; {feature_name(feature)} has {values!r}")
        found[feature_name(feature)] = [encode_of(feature, value) for value in plain_column(values)]
    return found


def input_times(times: Any) -> list[str]:
    """Times as texts; datetimes without a zone are UTC."""
    if times is None:
        return []
    if isinstance(times, (datetime, str)):
        return [_instant(times)]
    return [_instant(moment) for moment in plain_column(times)]


def _instant(moment: Union[datetime, str]) -> str:
    return instant_text(moment) if isinstance(moment, datetime) else str(moment)


def _lines(columns: Mapping[str, list[Any]], times: list[str], rows: int) -> Iterable[str]:
    parts = {**columns, **({"ts": times} if len(times) > 1 else {})}
    for name, values in parts.items():
        if len(values) not in (1, rows):
            raise ValueError(f"columns have one length, or one value for all rows: {name} has {len(values)} values of {rows}")
    for row in range(rows):
        line = {name: values[0] if len(values) == 1 else values[row] for name, values in parts.items()}
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def _upload(session: Session, call: Call, content: bytes) -> Steps[str]:
    digest = hashlib.sha256(content).hexdigest()
    said = yield from call("POST", "/v1/offline-queries/uploads", {"sha256": digest, "size_bytes": len(content)})
    address = urlsplit(said["url"])
    yield from session.upload(f"{address.path}?{address.query}", content)
    return str(said["upload_id"])
