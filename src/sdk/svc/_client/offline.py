"""Offline queries: the values of features for many rows, each as of a time of its own."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from datetime import datetime
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlsplit

from .http import Call, ClientError, Session
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


class OfflineQuery:
    """A query that was begun. The server goes on with it, whatever becomes of this object."""

    def __init__(self, session: Session, call: Call, said: Mapping[str, Any]) -> None:
        self._session = session
        self._call = call
        self._said = said
        self._files = TableFiles(session.api, f"the offline query {self.id}", self._find)

    @property
    def id(self) -> str:
        """Its id."""
        return str(self._said["id"])

    @property
    def status(self) -> str:
        """``queued``, ``working``, ``completed``, ``failed`` or ``canceled``, as the server says now."""
        return str(self._refreshed()["status"])

    @property
    def dataset_id(self) -> str:
        """Id of the dataset that the answer is a revision of; empty until the rows are read."""
        return str(self._refreshed()["dataset_id"])

    @property
    def revision_id(self) -> str:
        """Id of that revision; empty until the rows are read."""
        return str(self._refreshed()["revision_id"])

    @property
    def total_rows(self) -> int:
        """Number of rows that were given; 0 until they are read."""
        return int(self._refreshed()["total_rows"])

    @property
    def done_rows(self) -> int:
        """Number of them that were worked off."""
        return int(self._refreshed()["done_rows"])

    @property
    def failed_rows(self) -> int:
        """Number of rows of which an output failed."""
        return int(self._refreshed()["failed_rows"])

    @property
    def late_values(self) -> int:
        """Number of sampled values that `as_known` would change, or has."""
        return int(self._refreshed()["late_values"])

    @property
    def created_at(self) -> datetime:
        """When it was begun."""
        made: datetime = optional_time(self._said["created_at"])
        return made

    def wait(self, timeout: Optional[float] = None) -> OfflineQuery:
        """Waits for the end and returns the query itself.

        timeout: seconds; without it there is no limit. Raises TimeoutError; the query goes on.
        Raises OfflineQueryFailed when it failed or was cancelled.
        """
        said = wait_for_end(self._refreshed, _OPEN, f"the offline query {self.id}", timeout)
        status = said["status"]
        if status != "completed":
            raise OfflineQueryFailed(f"the offline query {self.id} {_how(status)}: {said['error'] or 'by somebody'}", self.id, status)
        return self

    def cancel(self) -> None:
        """Ends it; nothing of its answer stays. Raises ClientError when it has ended."""
        self._call("POST", "/svc.v1.OfflineQueryService/CancelOfflineQuery", {"id": self.id})

    def to_arrow(self) -> pyarrow.Table:
        """Waits, and gives the table by pyarrow."""
        return self.wait()._files.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Waits, and gives the table as a DataFrame of pandas, which needs pyarrow too."""
        return self.wait()._files.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Waits, and gives the table as a DataFrame of polars."""
        return self.wait()._files.to_polars()

    def rows(self) -> list[dict[str, Any]]:
        """Waits, and gives the rows by column as plain JSON has them, with no other package: times
        are texts, bytes base64.
        """
        self.wait()
        said = self._call("GET", f"/v1/offline-queries/{quote(self.id, safe='')}/table?format=json", None)
        with tempfile.TemporaryDirectory(prefix="svc-rows-") as folder:
            path = fetch_file(self._session.api, RemoteFile.of(said), os.path.join(folder, "rows.jsonl"))
            with open(path, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines if line.strip()]

    def download(self, folder: str = ".", *, include_givens: bool = False) -> list[str]:
        """Waits, downloads the files into a folder and returns their paths."""
        return self.wait()._files.download(folder, include_givens=include_givens)

    def __repr__(self) -> str:
        return f"OfflineQuery({self.id!r}, status={self._said['status']!r})"

    def _refreshed(self) -> Mapping[str, Any]:
        if self._said["status"] in _OPEN:
            self._said = self._call("GET", f"/v1/offline-queries/{quote(self.id, safe='')}", None)
        return self._said

    def _find(self) -> Sequence[RemoteFile]:
        said = self._call("GET", f"/v1/offline-queries/{quote(self.id, safe='')}", None)
        return [RemoteFile.of(file) for file in said["files"]]


def _how(status: str) -> str:
    return "failed" if status == "failed" else "was cancelled"


def begin(session: Session, call: Call, input: Any, times: Any, body: dict[str, Any]) -> OfflineQuery:
    """Begins a query; many rows are uploaded first. Raises ClientError, TypeError and ValueError."""
    columns = input_columns(input)
    if columns:
        said = input_times(times)
        rows = max([len(values) for values in columns.values()] + [len(said)])
        if rows <= _INLINE_ROWS:
            body["inputs"] = columns
            body["input_times"] = said
        else:
            body["file"] = {"upload_id": _upload(session, call, _lines(columns, said, rows)), "format": "json"}
            if len(said) == 1:
                body["input_times"] = said
    elif times is not None:
        body["input_times"] = input_times(times)
    return OfflineQuery(session, call, call("POST", "/v1/offline-queries", {name: value for name, value in body.items() if value}))


def input_columns(given: Any) -> dict[str, list[Any]]:
    """The columns of rows: of a mapping from features to values, of a list of rows, or of a table
    of pandas, polars or pyarrow.
    """
    if given is None:
        return {}
    columns = getattr(given, "columns", None)
    if not isinstance(given, Mapping) and columns is not None:
        names = getattr(given, "column_names", None) or list(columns)
        given = {name: _plain_column(given[name]) for name in names}
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
        found[feature_name(feature)] = [encode_of(feature, value) for value in values]
    return found


def _plain_column(column: Any) -> list[Any]:
    for way in ("to_pylist", "to_list", "tolist"):
        convert = getattr(column, way, None)
        if convert is not None:
            return list(convert())
    return list(column)


def input_times(times: Any) -> list[str]:
    """Times as texts; datetimes without a zone are UTC."""
    if times is None:
        return []
    if isinstance(times, (datetime, str)):
        return [_instant(times)]
    return [_instant(moment) for moment in _plain_column(times)]


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


def _upload(session: Session, call: Call, lines: Iterable[str]) -> str:
    content = "\n".join(lines).encode("utf-8")
    digest = hashlib.sha256(content).hexdigest()
    said = call("POST", "/v1/offline-queries/uploads", {"sha256": digest, "size_bytes": len(content)})
    address = urlsplit(said["url"])
    session.api.upload(f"{address.path}?{address.query}", content)
    return str(said["upload_id"])
