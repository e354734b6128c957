"""Datasets as the client gives them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence
from urllib.parse import quote

from .http import HttpServer
from .tables import RemoteFile, TableFiles, optional_time

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Gets the server's description of a dataset or a revision, by a path and its query.
Describe = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class DatasetRevision:
    """A revision of a dataset: the files of one table, which never change. `number` counts from 1
    in its dataset.
    """

    id: str
    number: int
    state: str
    origin: str
    rows: int
    bytes: int
    created_at: datetime
    completed_at: Optional[datetime]
    _files: TableFiles

    def to_arrow(self) -> pyarrow.Table:
        """The table, by pyarrow."""
        return self._files.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a DataFrame of pandas, which needs pyarrow too."""
        return self._files.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table as a DataFrame of polars."""
        return self._files.to_polars()

    def download(self, folder: str = ".", *, include_givens: bool = False, include_traces: bool = False) -> list[str]:
        """Downloads its files into a folder and returns their paths. A file that is there already
        is left alone when it is the same; otherwise FileExistsError.
        """
        return self._files.download(folder, include_givens=include_givens, include_traces=include_traces)

    def __repr__(self) -> str:
        return f"DatasetRevision({self.id!r}, number={self.number}, state={self.state!r}, rows={self.rows})"


@dataclass(frozen=True)
class Dataset:
    """A dataset. `revisions` has the newest first, the archived among them; `revision` is the one
    that was asked for, else the latest that can be read.
    """

    id: str
    name: Optional[str]
    created_at: datetime
    updated_at: Optional[datetime]
    revisions: Sequence[DatasetRevision]
    revision: Optional[DatasetRevision]

    def to_arrow(self) -> pyarrow.Table:
        """The table of `revision`, by pyarrow."""
        return self._readable().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The table of `revision` as a DataFrame of pandas, which needs pyarrow too."""
        return self._readable().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table of `revision` as a DataFrame of polars."""
        return self._readable().to_polars()

    def download(self, folder: str = ".", *, include_givens: bool = False, include_traces: bool = False) -> list[str]:
        """Downloads the files of `revision`, as `DatasetRevision.download` does."""
        return self._readable().download(folder, include_givens=include_givens, include_traces=include_traces)

    def _readable(self) -> DatasetRevision:
        if self.revision is None:
            raise ValueError(f"the dataset {self.name or self.id!r} has no revision that can be read")
        return self.revision

    def __repr__(self) -> str:
        return f"Dataset({self.id!r}, name={self.name!r}, revisions={len(self.revisions)})"


def dataset_of(wanted: str, server: HttpServer, describe: Describe) -> Dataset:
    """The dataset of an id or name, or with the revision of an id. Raises ClientError."""
    path = f"/v1/datasets/{quote(wanted, safe='')}"
    said = describe(path)
    revisions = list(said["revisions"])
    page = said
    while page.get("next_cursor"):
        page = describe(f"{path}?page_token={quote(page['next_cursor'], safe='')}")
        revisions += page["revisions"]
    dataset, chosen = said["dataset"], said["revision"]
    return Dataset(
        dataset["id"],
        dataset["name"] or None,
        optional_time(dataset["created_at"]),
        optional_time(dataset["updated_at"]),
        [revision_of(each, server, describe) for each in revisions],
        revision_of(chosen, server, describe) if chosen else None,
    )


def revision_of(said: Mapping[str, Any], server: HttpServer, describe: Describe) -> DatasetRevision:
    """The revision that an answer of the server describes."""
    revision_id = said["id"]

    def files() -> list[RemoteFile]:
        described = describe(f"/v1/datasets/{revision_id}?links=true&page_size=1")
        if described["revision"]["state"] not in ("complete", "writing"):
            raise ValueError(f"the revision {revision_id} is {described['revision']['state']}, so its files cannot be read")
        return [RemoteFile.of(file) for file in described["files"]]

    return DatasetRevision(
        revision_id,
        said["number"],
        said["state"],
        said["origin"],
        said["rows"],
        said["bytes"],
        optional_time(said["created_at"]),
        optional_time(said["completed_at"]),
        TableFiles(server, f"the revision {revision_id}", files),
    )
