"""Apache Arrow's own library as the oracle of streams: `read FOLDER` prints what the streams in it say, `write FOLDER` writes some and prints what they say."""

import datetime
import decimal
import json
import random
import sys
from pathlib import Path

import pyarrow as pa

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
US = datetime.timedelta(microseconds=1)


def plain(value):
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return {"micros": str((value - EPOCH) // US)}
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return {"length": str(value // US)}
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": value.hex()} if value == value else {"float": "nan"}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    raise TypeError(type(value))


def said(table):
    table.validate(full=True)
    metadata = {key.decode(): text.decode() for key, text in (table.schema.metadata or {}).items()}
    return {
        "types": [str(field.type) for field in table.schema],
        "columns": {name: [plain(value) for value in table.column(name).to_pylist()] for name in table.column_names},
        "rows": table.num_rows,
        "metadata": metadata,
    }


def read(folder):
    return [said(pa.ipc.open_stream(path.read_bytes()).read_all()) for path in sorted(folder.glob("*.arrows"))]


def values_of(kind, dice):
    text = lambda: "".join(dice.choice("aé𝄞\x00 z") for _ in range(dice.randrange(5)))
    instant = lambda: EPOCH + datetime.timedelta(microseconds=dice.randrange(-(2**50), 2**50))
    return {
        "null": lambda: None,
        "int8": lambda: dice.randrange(-128, 128),
        "uint8": lambda: dice.randrange(256),
        "int16": lambda: dice.randrange(-(2**15), 2**15),
        "uint32": lambda: dice.randrange(2**32),
        "int64": lambda: dice.choice([0, 2**53, -(2**63), 2**63 - 1]),
        "uint64": lambda: dice.choice([0, 2**64 - 1]),
        "float": lambda: dice.choice([0.5, -0.0, float("inf"), float("nan")]),
        "double": lambda: dice.choice([0.1, 1e300, float("-inf")]),
        "bool": lambda: dice.random() < 0.5,
        "string": text,
        "large_string": text,
        "dictionary": text,
        "binary": lambda: dice.randbytes(dice.randrange(4)),
        "large_binary": lambda: dice.randbytes(3),
        "date32": lambda: instant().date(),
        "date64": lambda: instant().date(),
        "timestamp_s": lambda: instant().replace(microsecond=0),
        "timestamp_ms": lambda: EPOCH + datetime.timedelta(milliseconds=dice.randrange(2**40)),
        "timestamp_us": instant,
        "timestamp_ns": instant,
        "duration_s": lambda: datetime.timedelta(seconds=dice.randrange(-1000, 1000)),
        "duration_us": lambda: datetime.timedelta(microseconds=dice.randrange(-(2**50), 2**50)),
        "decimal": lambda: decimal.Decimal(dice.randrange(-(10**12), 10**12)).scaleb(-3),
        "list": lambda: [dice.choice([None, dice.randrange(100)]) for _ in range(dice.randrange(3))],
        "large_list": lambda: [text()],
        "fixed_list": lambda: [dice.random(), dice.random()],
        "struct": lambda: {"a": dice.randrange(10), "b": dice.choice([None, [text()]])},
    }[kind]


TYPES = {
    "null": pa.null(),
    "int8": pa.int8(),
    "uint8": pa.uint8(),
    "int16": pa.int16(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "dictionary": pa.dictionary(pa.int16(), pa.string()),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "timestamp_s": pa.timestamp("s"),
    "timestamp_ms": pa.timestamp("ms", "UTC"),
    "timestamp_us": pa.timestamp("us", "Europe/Berlin"),
    "timestamp_ns": pa.timestamp("ns", "UTC"),
    "duration_s": pa.duration("s"),
    "duration_us": pa.duration("us"),
    "decimal": pa.decimal128(20, 3),
    "list": pa.list_(pa.int32()),
    "large_list": pa.large_list(pa.string()),
    "fixed_list": pa.list_(pa.float64(), 2),
    "struct": pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]),
}


def naive(kind, value):
    return value.replace(tzinfo=None) if kind == "timestamp_s" and value is not None else value


def write(folder, seed):
    dice = random.Random(seed)
    told = []
    for number in range(40):
        schema = pa.schema(list(TYPES.items()), metadata={"svc.query": "{}"})
        batches = []
        for rows in [dice.choice([0, 1, 3, 8, 9, 20]) for _ in range(dice.randrange(1, 4))]:
            arrays = []
            for kind, dtype in TYPES.items():
                make = values_of(kind, dice)
                values = [None if dice.random() < 0.2 else naive(kind, make()) for _ in range(rows)]
                array = pa.array(values, dtype)
                arrays.append(array.slice(min(1, rows)) if number % 2 else array)
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        path = folder / f"{number:03}.arrows"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
            for batch in batches:
                writer.write_batch(batch)
        told.append(said(pa.Table.from_batches(batches, schema)))
    return told


mode, place = sys.argv[1], Path(sys.argv[2])
print(json.dumps(read(place) if mode == "read" else write(place, int(sys.argv[3]))))
