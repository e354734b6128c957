"""Datasets as the client gives them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable, Generic, Mapping, Optional, Sequence, TypeVar
from urllib.parse import quote

from .blocking import Blocking
from .session import Session
from .steps import Steps
from .tables import RemoteFile, TableFiles, optional_time

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Gets the server's description of a dataset or a revision, by a path and its query.
Describe = Callable[[str], Steps[Mapping[str, Any]]]


@dataclass(frozen=True)
class RevisionFacts:
    """What is known of a revision. `number` counts from 1 in its dataset."""

    id: str
    number: int
    state: str
    origin: str
    rows: int
    bytes: int
    created_at: datetime
    completed_at: Optional[datetime]
    _files: TableFiles

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, number={self.number}, state={self.state!r}, rows={self.rows})"


Revision = TypeVar("Revision", bound=RevisionFacts)


@dataclass(frozen=True)
class DatasetFacts(Generic[Revision]):
    """What is known of a dataset."""

    id: str
    name: Optional[str]
    created_at: datetime
    updated_at: Optional[datetime]
    revisions: Sequence[Revision]
    revision: Optional[Revision]

    def _readable(self) -> Revision:
        if self.revision is None:
            raise ValueError(f"the dataset {self.name or self.id!r} has no revision that can be read")
        return self.revision

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, name={self.name!r}, revisions={len(self.revisions)})"


@dataclass(frozen=True, repr=False)
class DatasetRevision(RevisionFacts):
    """A revision of a dataset: the files of one table, which never change. `number` counts from 1
    in its dataset.
    """

    _run: Blocking

    def to_arrow(self) -> pyarrow.Table:
        """The table, by pyarrow."""
        return self._run(self._files.to_arrow())

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a DataFrame of pandas, which needs pyarrow too."""
        return self._run(self._files.to_pandas())

    def to_polars(self) -> polars.DataFrame:
        """The table as a DataFrame of polars."""
        return self._run(self._files.to_polars())

    def download(self, folder: str = ".", *, include_givens: bool = False, include_traces: bool = False) -> list[str]:
        """Downloads its files into a folder and returns their paths. A file that is there already
        is left alone when it is the same; otherwise FileExistsError.
        """
        return self._run(self._files.download(folder, include_givens, include_traces))


@dataclass(frozen=True, repr=False)
class Dataset(DatasetFacts[DatasetRevision]):
    """A dataset. `revisions` has the newest first, the archived among them; `revision` is the one
    that was asked for, else the latest that can be read.
    """

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


#: Makes a revision of the facts in the order of `RevisionFacts`.
MakeRevision = Callable[..., Revision]
DatasetParts = tuple[str, Optional[str], datetime, Optional[datetime], Sequence[Revision], Optional[Revision]]


def dataset_of(wanted: str, session: Session, describe: Describe, make: MakeRevision[Revision]) -> Steps[DatasetParts[Revision]]:
    """The facts of the dataset of an id or name, or with the revision of an id, in the order of
    `DatasetFacts`. Raises ClientError and ValueError.
    """
    if not isinstance(wanted, str) or not wanted:
        raise ValueError(f"a dataset is named by its id or name, not {wanted!r}")
    path = f"/v1/datasets/{quote(wanted, safe='')}"
    said = yield from describe(path)
    revisions = list(said["revisions"])
    page = said
    while page.get("next_cursor"):
        page = yield from describe(f"{path}?page_token={quote(page['next_cursor'], safe='')}")
        revisions += page["revisions"]
    dataset, chosen = said["dataset"], said["revision"]
    return (
        dataset["id"],
        dataset["name"] or None,
        optional_time(dataset["created_at"]),
        optional_time(dataset["updated_at"]),
        [_revision_of(each, session, describe, make) for each in revisions],
        _revision_of(chosen, session, describe, make) if chosen else None,
    )


def _revision_of(said: Mapping[str, Any], session: Session, describe: Describe, make: MakeRevision[Revision]) -> Revision:
    """The revision that an answer of the server describes."""
    revision_id = said["id"]

    def files() -> Steps[Sequence[RemoteFile]]:
        described = yield from describe(f"/v1/datasets/{revision_id}?links=true&page_size=1")
        if described["revision"]["state"] not in ("complete", "writing"):
            raise ValueError(f"the revision {revision_id} is {described['revision']['state']}, so its files cannot be read")
        return [RemoteFile.of(file) for file in described["files"]]

    return make(
        revision_id,
        said["number"],
        said["state"],
        said["origin"],
        said["rows"],
        said["bytes"],
        optional_time(said["created_at"]),
        optional_time(said["completed_at"]),
        TableFiles(session, f"the revision {revision_id}", files),
    )
