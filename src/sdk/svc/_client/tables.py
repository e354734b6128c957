"""Tables in files on the server: downloaded, checked, and loaded by pyarrow, pandas or polars,
whichever is installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Callable, Mapping, Optional, Sequence
from urllib.parse import urlsplit

from .errors import ClientError, ServerUnreachable
from .session import Session
from .steps import Result, Steps, Work

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Times that a download is gone on with without getting further.
_TRIES = 3


class DamagedDownload(ClientError):
    """A file that came, and is not the one that the server announced."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on the server. `kind` is ``output`` for rows of a table, ``givens`` for what was
    given, ``errors``, or ``trace``. `url` is a signed address, which works for some minutes.
    """

    name: str
    kind: str
    bytes: int
    rows: int
    sha256: str
    url: str = field(repr=False, default="")

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> RemoteFile:
        """The file that an answer of the server describes."""
        return cls(said["name"], said["kind"], said["bytes"], said["rows"], said["sha256"], said.get("url", ""))


class TableFiles:
    """The files of a table, whose addresses are asked for each time that they are used."""

    def __init__(self, session: Session, name: str, find: Callable[[], Steps[Sequence[RemoteFile]]]) -> None:
        self._session = session
        self._name = name
        self._find = find

    def download(self, folder: str, include_givens: bool = False, include_traces: bool = False) -> Steps[list[str]]:
        """Downloads the files into a folder, which is made if need be, and returns their paths. A
        file that is there already is left alone when it is the same; otherwise FileExistsError.
        """
        left_out = {kind for kind, wanted in (("givens", include_givens), ("trace", include_traces)) if not wanted}
        files = [file for file in (yield from self._find()) if file.kind not in left_out]
        os.makedirs(folder, exist_ok=True)
        paths: list[str] = []
        for file in files:
            paths.append((yield from fetch_file(self._session, file, os.path.join(folder, local_name(file.name)))))
        return paths

    def to_arrow(self) -> Steps[pyarrow.Table]:
        """The table, by pyarrow."""
        return (yield from self._loaded(_arrow_of))

    def to_pandas(self) -> Steps[pandas.DataFrame]:
        """The table as a DataFrame of pandas, which needs pyarrow too."""
        import pandas as _  # noqa: F401

        return (yield from self._loaded(lambda paths: _arrow_of(paths).to_pandas()))

    def to_polars(self) -> Steps[polars.DataFrame]:
        """The table as a DataFrame of polars."""
        return (yield from self._loaded(_polars_of))

    def _loaded(self, load: Callable[[Sequence[str]], Result]) -> Steps[Result]:
        """What `load` makes of the table's files, which are on this machine meanwhile."""
        files = [file for file in (yield from self._find()) if file.kind == "output"]
        if not files or not all(file.name.endswith((".parquet", ".pq")) for file in files):
            raise ValueError(f"{self._name} holds no table but other files; download() gets them")
        with tempfile.TemporaryDirectory(prefix="svc-table-") as folder:
            paths: list[str] = []
            for at, file in enumerate(files):
                paths.append((yield from fetch_file(self._session, file, os.path.join(folder, f"{at}.parquet"))))
            loaded: Result = yield Work(lambda: load(paths))
            return loaded


def _arrow_of(paths: Sequence[str]) -> pyarrow.Table:
    import pyarrow.parquet

    # Without the folder's name as a column, and read whole before the files are removed.
    return pyarrow.concat_tables([pyarrow.parquet.ParquetFile(path).read() for path in paths])


def _polars_of(paths: Sequence[str]) -> polars.DataFrame:
    import polars

    return polars.concat([polars.read_parquet(path, memory_map=False) for path in paths])


def local_name(name: str) -> str:
    """The name on this machine of a file that the server names, without folders. Raises
    ClientError for one that would be no plain file.
    """
    base = re.split(r"[/\\]", name)[-1]
    if base in ("", ".", "..") or not base.isprintable() or re.search(r'[:]|[. ]$', base):
        raise ClientError(f"the server names a file {name!r}, which is no name for a file here")
    return base


def fetch_file(session: Session, file: RemoteFile, path: str) -> Steps[str]:
    """Downloads a file and checks its digest; it appears at the path when it is whole. A download
    that is cut off goes on where it was. Raises ClientError, and FileExistsError when there is
    another file.
    """
    if os.path.lexists(path):
        if not os.path.islink(path) and os.path.isfile(path) and (yield Work(lambda: _digest_of(path))) == file.sha256:
            return path
        raise FileExistsError(f"{path} exists already, with other content")
    partial = f"{path}.{os.urandom(8).hex()}.part"
    try:
        with open(partial, "xb") as target:
            digest = yield from _receive(session, file, target)
        if digest != file.sha256:
            raise DamagedDownload(f"{file.name} came damaged: its SHA-256 is {digest}, and not {file.sha256}")
        _place(partial, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)
    return path


def _receive(session: Session, file: RemoteFile, target: BinaryIO) -> Steps[str]:
    hasher = hashlib.sha256()
    address, known = urlsplit(file.url), urlsplit(session.api.url)
    origin = f"{address.scheme or known.scheme}://{address.netloc or known.netloc}"
    at = session.server_at(origin)
    received = 0

    def keep(chunk: bytes) -> None:
        nonlocal received
        received += len(chunk)
        if received > file.bytes:
            raise DamagedDownload(f"the server sent more than the {file.bytes} bytes of {file.name}")
        hasher.update(chunk)
        target.write(chunk)

    tried = 0
    while True:
        before = received
        try:
            status = yield from session.download(at, f"{address.path}?{address.query}", keep, received)
        except ServerUnreachable:
            tried = 0 if received > before else tried + 1
            if tried >= _TRIES:
                raise
            continue
        if status not in (200, 206) or (before and status == 200):
            raise ClientError(f"the server answered {status} for the file {file.name}: its address may have expired; ask again")
        return hasher.hexdigest()


def _place(partial: str, path: str) -> None:
    try:
        os.link(partial, path)
    except FileExistsError:
        raise FileExistsError(f"{path} exists already, with other content") from None
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(f"{path} exists already, with other content") from None
        os.rename(partial, path)


def _digest_of(path: str) -> str:
    hasher = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    return hasher.hexdigest()


def optional_time(said: Optional[str]) -> Any:
    """A time of an answer, as a datetime; None where there is none."""
    from .values import to_datetime

    return to_datetime(said) if said else None
