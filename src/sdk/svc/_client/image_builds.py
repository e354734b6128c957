"""Images that the server builds: what is sent of this machine, and how it is asked for."""

from __future__ import annotations

import base64
import os
import posixpath
import stat
import warnings
from typing import Any

from .container_image import Image, LocalPath, working_folder
from .ignored_files import listed_files, looks_like_secret
from .session import Call
from .steps import Steps, Work

_MOST_FILES = 5_000
#: Most bytes of all files together.
_MOST_BYTES = 16 * 1024 * 1024
_MOST_NAMES = 8


def build_image(call: Call, image: Image) -> Steps[str]:
    """The name of an image for the server's engine. The same image is built once. Raises ClientError,
    and ValueError and OSError for files that cannot be sent.
    """
    if not image.packages and not image.local_paths:
        return image.base
    files = yield Work(lambda: _files_of(image))
    request = {"base": image.base, "packages": list(image.packages), "workdir": working_folder(image.local_paths), "files": files}
    answer = yield from call("POST", "/svc.v1.ImageBuildService/BuildImage", request)
    return str(answer["image"])


def _files_of(image: Image) -> list[dict[str, Any]]:
    """The local files of an image, with their paths below its working folder."""
    workdir = working_folder(image.local_paths)
    sources: dict[str, str] = {}
    for item in image.local_paths:
        for path, source in _sources(item):
            below = posixpath.relpath(path, workdir)
            if below in sources:
                raise ValueError(f"the image is given two files at {path}: {sources[below]} and {source}")
            sources[below] = source
    if len(sources) > _MOST_FILES:
        raise ValueError(f"an image is given at most {_MOST_FILES} files, not {len(sources)}")
    left = _MOST_BYTES
    files = []
    for below, source in sources.items():
        with open(source, "rb") as file:
            content = file.read(left + 1)
            mode = os.fstat(file.fileno()).st_mode
        left -= len(content)
        if left < 0:
            raise ValueError(f"the files of an image have at most {_MOST_BYTES // 1024 // 1024} MiB in all, and with {source} they are more")
        files.append({"path": below, "content": base64.b64encode(content).decode("ascii"), "executable": bool(mode & stat.S_IXUSR)})
    return files


def _sources(item: LocalPath) -> list[tuple[str, str]]:
    """Paths in the image with the files of this machine that come there."""
    if not item.is_folder:
        if looks_like_secret(item.local.replace(os.sep, "/")):
            raise ValueError(f"{item.local} looks like a secret, and everyone who has the image would have it; secrets= gives a secret to the replicas")
        return [(item.remote, item.local)]
    secrets: list[str] = []
    listed = listed_files(item.local, secrets.append, _MOST_FILES)
    if secrets:
        others = f" and {len(secrets) - _MOST_NAMES} more" if len(secrets) > _MOST_NAMES else ""
        shown = ", ".join(map(repr, secrets[:_MOST_NAMES]))
        warnings.warn(f"files of {item.local} look like secrets and are left out of the image: {shown}{others}", stacklevel=2)
    if not listed:
        raise ValueError(f"the folder {item.local} has no files for the image, but for those that are left out")
    return [(f"{item.remote}/{path}", os.path.join(item.local, *path.split("/"))) for path in listed]
