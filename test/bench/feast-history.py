"""Samples of `feature_N.parquet` along `spine.parquet` in a folder, by Feast, into `by-feast.parquet`.

Arguments: the folder, the number of features, and the age in milliseconds above which a value does
not count. Prints the seconds of the sample, the CPU seconds of it, and the most memory in bytes.
"""

import json
import resource
import sys
import time
from datetime import timedelta
from pathlib import Path

import pandas as pd
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, ValueType
from feast.types import Float64, Int64

root, features, ttl = Path(sys.argv[1]), int(sys.argv[2]), timedelta(milliseconds=float(sys.argv[3]))
repo = root / "feast"
repo.mkdir(exist_ok=True)
(repo / "feature_store.yaml").write_text(
    """project: bench
provider: local
registry: registry.db
offline_store:
  type: file
online_store:
  type: sqlite
  path: online.db
entity_key_serialization_version: 3
"""
)
store = FeatureStore(repo_path=str(repo))
entity = Entity(name="entity", join_keys=["id"], value_type=ValueType.INT64)
views = [
    FeatureView(
        name=f"view_{number}",
        entities=[entity],
        ttl=ttl,
        schema=[Field(name="id", dtype=Int64), Field(name=f"f{number}", dtype=Float64)],
        source=FileSource(path=str(root / f"feature_{number}.parquet"), timestamp_field="event_timestamp"),
    )
    for number in range(1, features + 1)
]
store.apply([entity, *views])

began, used = time.perf_counter(), time.process_time()
spine = pd.read_parquet(root / "spine.parquet").rename(columns={"ts": "event_timestamp"})
names = [f"view_{number}:f{number}" for number in range(1, features + 1)]
store.get_historical_features(entity_df=spine, features=names).to_df().to_parquet(root / "by-feast.parquet")
print(
    json.dumps(
        {
            "seconds": time.perf_counter() - began,
            "cpu": time.process_time() - used,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
    )
)
