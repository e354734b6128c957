"""What a container is made of: an image that exists, and what is added to it."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from typing import Sequence, Union

_MOST_PACKAGES = 500
_MOST_LOCAL = 100
#: Longest text of a package or a path.
_LONGEST = 1_000
#: A requirement of pip by its name, with extras, versions and a marker; no option, file or address.
_PACKAGE = re.compile(r"""[A-Za-z0-9][A-Za-z0-9._-]* *(?:\[[A-Za-z0-9._, -]*\])? *(?:[<>=!~(;][A-Za-z0-9 .,_<>=!~()*+;'"-]*)?\Z""")
_IN_IMAGE = re.compile(r"(?:/[A-Za-z0-9_.@+-]+)+\Z")


@dataclass(frozen=True)
class LocalPath:
    """A file or folder of this machine, as an absolute path, and where it is in the image."""

    local: str
    remote: str
    is_folder: bool


@dataclass(frozen=True)
class Image:
    """An image for containers: ``Image("docker.io/library/python:3.12-slim")``, as the server's
    container engine names it, and what is added to it. Each method returns another image; the server
    builds it when it is deployed, and keeps it for the next time that the same is asked for. The folder
    that all added files are in becomes the image's working folder.

        Image("docker.io/library/python:3.12-slim").pip_install("httpx>=0.27").add_local_dir("app", "/app")
    """

    base: str
    packages: tuple[str, ...] = ()
    local_paths: tuple[LocalPath, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.base, str) or not self.base.strip():
            raise TypeError(f"an image is named by a text such as 'docker.io/library/python:3.12-slim', not {self.base!r}")

    def pip_install(self, *packages: str) -> Image:
        """The image with Python packages, as pip names them: ``pip_install("httpx", "rich==13.9.4")``.

        Raises TypeError and ValueError.
        """
        for package in packages:
            if not isinstance(package, str):
                raise TypeError(f"pip_install takes packages as texts, such as pip_install('httpx', 'rich==13.9.4'), not {package!r}")
            if not _PACKAGE.match(package) or len(package) > _LONGEST:
                raise ValueError(f"pip_install takes packages by name, with versions where they matter, not {package[:100]!r}")
        if len(self.packages) + len(packages) > _MOST_PACKAGES:
            raise ValueError(f"an image is given at most {_MOST_PACKAGES} packages")
        return Image(self.base, self.packages + packages, self.local_paths)

    def add_local_file(self, local: Union[str, os.PathLike[str]], remote: str) -> Image:
        """The image with a file of this machine at an absolute path. Relative paths are those from the
        working directory. Raises FileNotFoundError and ValueError.
        """
        path = os.path.abspath(os.fspath(local))
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {path} for the image; a folder is added with add_local_dir")
        return self._with(LocalPath(path, _in_image(remote), False))

    def add_local_dir(self, local: Union[str, os.PathLike[str]], remote: str) -> Image:
        """The image with the files of a folder of this machine, below an absolute path. What
        ``svc apply`` would leave out is left out: what ``.gitignore`` and ``.svcignore`` name, and
        files that look like secrets. Raises NotADirectoryError and ValueError.
        """
        path = os.path.abspath(os.fspath(local))
        if not os.path.isdir(path):
            raise NotADirectoryError(f"there is no folder {path} for the image; a file is added with add_local_file")
        return self._with(LocalPath(path, _in_image(remote), True))

    def _with(self, added: LocalPath) -> Image:
        if len(self.local_paths) >= _MOST_LOCAL:
            raise ValueError(f"an image is given at most {_MOST_LOCAL} files and folders; a folder brings all that is in it")
        paths = (*self.local_paths, added)
        if working_folder(paths) == "/":
            raise ValueError(f"the files of an image lie below one folder, such as '/app', and {added.remote!r} lies outside of that of the others")
        return Image(self.base, self.packages, paths)


def working_folder(paths: Sequence[LocalPath]) -> str:
    """The folder of an image that all of some paths are in; empty without any."""
    folders = [item.remote if item.is_folder else posixpath.dirname(item.remote) for item in paths]
    return posixpath.commonpath(folders) if folders else ""


def _in_image(path: str) -> str:
    plain = posixpath.normpath(path) if isinstance(path, str) else ""
    if not _IN_IMAGE.match(plain) or ".." in plain.split("/") or len(plain) > _LONGEST:
        raise ValueError(f"a path in an image is absolute and below its root, of letters, digits and '_.@+-', such as '/app', not {path!r}")
    return plain
