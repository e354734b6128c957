"""Fills a Feast SQLite online store with the values in `views.json` of a folder, its one argument.
"""

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, ValueType
from feast.types import Bool, Float64, Int64, String

TYPES = {"float": (Float64, float), "int": (Int64, int), "str": (String, str), "bool": (Bool, bool)}

root = Path(sys.argv[1])
views = json.loads((root / "views.json").read_text())
(root / "feature_store.yaml").write_text(
    """project: bench
provider: local
registry: registry.db
online_store:
  type: sqlite
  path: online.db
entity_key_serialization_version: 3
"""
)

store = FeatureStore(repo_path=str(root))
entity = Entity(name="entity", join_keys=["id"], value_type=ValueType.INT64)
now = datetime.now(timezone.utc)


def frame(view: dict) -> pd.DataFrame:
    rows = len(view["columns"][0]["values"])
    keys = {"id": range(1, rows + 1), "event_timestamp": [now] * rows}
    values = {column["name"]: list(map(TYPES[column["type"]][1], column["values"])) for column in view["columns"]}
    return pd.DataFrame({**keys, **values})


definitions = []
for view in views:
    path = str(root / f"{view['name']}.parquet")
    frame(view).to_parquet(path)
    definitions.append(
        FeatureView(
            name=view["name"],
            entities=[entity],
            ttl=timedelta(0),
            schema=[Field(name="id", dtype=Int64)]
            + [Field(name=column["name"], dtype=TYPES[column["type"]][0]) for column in view["columns"]],
            source=FileSource(path=path, timestamp_field="event_timestamp"),
        )
    )
store.apply([entity, *definitions])
for view in views:
    store.write_to_online_store(view["name"], frame(view))
