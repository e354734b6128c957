"""Feast's command line with one change: threads take turns at the SQLite online store.

Its server reads from several threads over one connection, which fails under concurrent requests
("bad parameter or other API misuse").
"""

import threading

from feast.cli.cli import cli
from feast.infra.online_stores.sqlite import SqliteOnlineStore

turn = threading.Lock()
read = SqliteOnlineStore.online_read


def online_read(self, *args, **options):
    with turn:
        return read(self, *args, **options)


SqliteOnlineStore.online_read = online_read
cli()
