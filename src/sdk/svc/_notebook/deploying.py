"""Deploying what a notebook's cells define to a branch."""

from __future__ import annotations

from typing import Callable, Optional

Deploy = Callable[[str], str]
_deploy: Optional[Deploy] = None


class NotDeployed(Exception):
    """Why what cells define was not deployed."""

    __module__ = "svc.notebook"


def deploy(branch: str) -> str:
    """Deploys the feature classes and resolvers of the notebook's cells to a branch, as a module beside
    those of the project, and returns the id of the deployment once it is live. The cells are those that
    have run before, in their order; the last definition of a name counts.

    Raises NotDeployed for what cannot be deployed, with the reason. ``svc apply --branch=<name> --reset``
    drops the module again.
    """
    if _deploy is None:
        raise NotDeployed("only a notebook's kernel on the server deploys what its cells define")
    if not isinstance(branch, str) or not branch:
        raise NotDeployed("a notebook deploys to a branch: deploy(branch='try-it')")
    return _deploy(branch)


def done_by(deploy: Deploy) -> None:
    """Has `deploy` done by a function, for the process of a kernel."""
    global _deploy
    _deploy = deploy
