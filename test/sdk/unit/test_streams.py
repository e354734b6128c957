"""Streams: functions stay as they are, and messages are read as their types say."""

import unittest
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import List, Optional

from svc.features import DataFrame, Features, features
from svc.sources import TopicSource
from svc.streams import stream
from svc._codec.message import BadMessage, reader_of
from svc._model.registry import registry

events = TopicSource(name="events of a unit test")


@features
class Payment:
    id: int
    amount: float


@dataclass
class Message:
    id: int
    amount: float


@stream(source=events)
def on(message: Message) -> Features[Payment.id, Payment.amount]:
    return Payment(id=message.id, amount=message.amount)


@stream(source=events)
def doubled(messages: DataFrame[Message]) -> DataFrame[Payment.id, Payment.amount]:
    def name() -> str:
        return "no statement of SQL"

    with_name = bool(name())
    return DataFrame({Payment.id: messages.column("id"), Payment.amount: [2 * with_name * amount for amount in messages.column("amount")]})


class Kind(Enum):
    CARD = "card"
    CASH = "cash"


@dataclass
class Inner:
    x: int


@dataclass
class Wide:
    at: datetime
    length: timedelta
    price: Decimal
    raw: bytes
    kind: Kind
    inner: Inner
    notes: List[str] = field(default_factory=list)
    maybe: Optional[int] = None


class Functions(unittest.TestCase):
    def test_stays_callable(self):
        row = on(Message(id=3, amount=2.5))
        self.assertEqual((row.id, row.amount), (3, 2.5))
        self.assertEqual(on.__name__, "on")

    def test_of_a_dataframe_stays_callable(self):
        rows = doubled(DataFrame({"id": [3, 4], "amount": [2.5, 1.0]}))
        self.assertEqual(rows.to_dicts(), [{"payment.id": 3, "payment.amount": 5.0}, {"payment.id": 4, "payment.amount": 2.0}])
        spec = registry.streams[f"{__name__}.doubled"]
        self.assertTrue(spec.batches)
        self.assertIs(spec.message_type, Message)


class Messages(unittest.TestCase):
    def test_every_type(self):
        text = (
            b'{"at": "2026-01-01T01:00:00+01:00", "length": 1.5, "price": "0.10", "raw": "AP8=", "kind": "cash", "inner": {"x": 9007199254740993,'
            b' "new": 1}, "more": {}}'
        )
        wanted = Wide(datetime(2026, 1, 1, tzinfo=timezone.utc), timedelta(seconds=1.5), Decimal("0.10"), b"\x00\xff", Kind.CASH, Inner(2**53 + 1))
        self.assertEqual(reader_of(Wide)(text), wanted)

    def test_what_is_not_said(self):
        read = reader_of(Message)
        cases = {
            b'{"id": "1", "amount": 1}': "Message.id: an integer is expected, and this is a text: '1'",
            b'{"id": 1.0, "amount": 1}': "Message.id: an integer is expected, and this is a number: 1.0",
            b'{"id": true, "amount": 1}': "Message.id: an integer is expected, and this is true or false: True",
            b'{"id": 1, "amount": "x"}': "Message.amount: a number is expected, and this is a text: 'x'",
            b'{"id": null, "amount": 1}': "Message.id: an integer is expected, and this is null: None",
            b'{"amount": 1}': "Message.id is missing",
            b"[]": "an object with the fields of Message is expected, and this is an array: []",
            b'{"id": 1, "amount": NaN}': "NaN is not JSON",
        }
        for text, said in cases.items():
            with self.subTest(text=text):
                with self.assertRaises(BadMessage) as raised:
                    read(text)
                self.assertEqual(str(raised.exception), said)

    def test_plain(self):
        self.assertEqual(reader_of(bytes)(b"\xff"), b"\xff")
        self.assertEqual(reader_of(str)("é".encode()), "é")
        self.assertEqual(reader_of(dict)(b'{"a": [1]}'), {"a": [1]})
        with self.assertRaises(BadMessage):
            reader_of(dict)(b"1")


class Packages(unittest.TestCase):
    def test_pydantic(self):
        try:
            from pydantic import BaseModel, Field
        except ImportError:
            self.skipTest("pydantic is not installed")

        class Model(BaseModel):
            id: int = Field(gt=0)
            name: str = "n"

        self.assertEqual(reader_of(Model)(b'{"id": 3}'), Model(id=3, name="n"))
        with self.assertRaises(ValueError):
            reader_of(Model)(b'{"id": 0}')

    def test_protobuf_in_parse(self):
        try:
            from google.protobuf.timestamp_pb2 import Timestamp
        except ImportError:
            self.skipTest("protobuf is not installed")

        @stream(source=events, parse=Timestamp.FromString, name="of_protobuf")
        def of(message: Timestamp) -> Features[Payment.id, Payment.amount]:
            return Payment(id=message.seconds, amount=message.nanos)

        spec = registry.streams[f"{__name__}.of_protobuf"]
        row = spec.fn(spec.parse(Timestamp(seconds=5, nanos=7).SerializeToString()))
        self.assertEqual((row.id, row.amount), (5, 7))

    def test_avro_in_parse(self):
        try:
            import fastavro
        except ImportError:
            self.skipTest("fastavro is not installed")
        import io

        schema = fastavro.parse_schema({"type": "record", "name": "P", "fields": [{"name": "id", "type": "long"}, {"name": "amount", "type": "double"}]})

        def parse(raw: bytes) -> dict:
            return fastavro.schemaless_reader(io.BytesIO(raw), schema, None)

        @stream(source=events, parse=parse, name="of_avro")
        def of(message: dict) -> Features[Payment.id, Payment.amount]:
            return Payment(**message)

        written = io.BytesIO()
        fastavro.schemaless_writer(written, schema, {"id": 5, "amount": 0.5})
        spec = registry.streams[f"{__name__}.of_avro"]
        row = spec.fn(spec.parse(written.getvalue()))
        self.assertEqual((row.id, row.amount), (5, 0.5))


if __name__ == "__main__":
    unittest.main()
