/**
 * `docs/message-formats.md`: its streams read Avro and protobuf on a real worker. The messages are put
 * together here, byte by byte, as the formats' specifications say.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { lacks } from "../../harness/needs.ts";
import { anyPython, startPool } from "./project.ts";

setDefaultTimeout(300_000);

const PAGE = await Bun.file(join(import.meta.dir, "../../../docs/message-formats.md")).text();
const FILES = Object.fromEntries([...PAGE.matchAll(/^```python file: (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name, text ?? ""]));

/** An interpreter that has both packages. */
async function pythonWithBoth(): Promise<string | undefined> {
  for (const runtime of ["python313", "python312", "python311", "python310"]) {
    const python = await anyPython(runtime);
    if (python && Bun.spawnSync([python, "-I", "-c", "import fastavro, google.protobuf"], { stderr: "ignore" }).success) return python;
  }
  return undefined;
}

const python = await pythonWithBoth();

/** The module of the page's message, as `protoc` makes it: of the message's descriptor. */
const PAYMENT_PB2 = `
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

file = descriptor_pb2.FileDescriptorProto(name="payment.proto", syntax="proto3")
message = file.message_type.add(name="Payment")
for number, (name, kind) in enumerate([("id", 3), ("payer", 9), ("amount", 1)], 1):
    message.field.add(name=name, number=number, type=kind, label=1)
pool = descriptor_pool.DescriptorPool()
pool.Add(file)
Payment = message_factory.GetMessageClass(pool.FindMessageTypeByName("Payment"))
`;

const varint = (value: number): number[] => (value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]);
/** A number of Avro: its sign is the lowest bit. */
const zigzag = (value: number): number[] => varint(value < 0 ? -2 * value - 1 : 2 * value);
const double = (value: number): number[] => [...new Uint8Array(Float64Array.of(value).buffer)];
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function avro(id: number, payer: string, amount: number, note: string | null): number[] {
  const tail = note === null ? zigzag(0) : [...zigzag(1), ...zigzag(utf8(note).length), ...utf8(note)];
  return [...zigzag(id), ...zigzag(utf8(payer).length), ...utf8(payer), ...double(amount), ...tail];
}

function protobuf(id: number, payer: string, amount: number): number[] {
  return [8, ...varint(id), 18, ...varint(utf8(payer).length), ...utf8(payer), 25, ...double(amount)];
}

test.skipIf(lacks("fastavro and protobuf of Python", python !== undefined))("messages in Avro and protobuf become rows", async () => {
  const resolverFqns = ["avro_payments.on_avro", "registered_payments.on_registered", "proto_payments.on_proto"];
  await using live = await startPool({ ...FILES, "payment_pb2.py": PAYMENT_PB2 }, { python: python as string, resolverFqns });
  const read = (resolver: string, ...messages: readonly (readonly number[])[]) =>
    live.pool.call({
      ...{
        resolver,
        rows: messages.length,
        columns: { message: messages.map((bytes) => Uint8Array.from(bytes)) },
        now: [],
        deadlineMs: 300_000,
      },
      context: { queryId: "q", traceId: "t", tags: [], queryContext: {} },
    });
  const rows = {
    "avro_payment.id": [5, -3],
    "avro_payment.payer": ["Ann é", "Bo"],
    "avro_payment.amount": [0.25, -1e300],
    "avro_payment.note": [null, "n"],
  };
  const [first, second] = [avro(5, "Ann é", 0.25, null), avro(-3, "Bo", -1e300, "n")];

  const plain = await read("avro_payments.on_avro", first, second, first.slice(0, 4));
  expect(Object.fromEntries(Object.entries(plain.columns).map(([name, values]) => [name, [...values].slice(0, 2)]))).toEqual(rows);
  expect(plain.errors).toMatchObject([{ row: 2 }]);

  const header = (number: number) => [0, 0, 0, 0, number];
  const registered = await read("registered_payments.on_registered", [...header(7), ...first], [...header(8), ...second]);
  expect(Object.values(registered.columns).map((values) => [...values][0])).toEqual([5, "Ann é", 0.25, null]);
  expect(registered.errors).toMatchObject([{ row: 1, exception: { message: "the message has the unknown schema 8" } }]);

  const proto = await read("proto_payments.on_proto", protobuf(2 ** 40, "Ann é", 0.5), [8]);
  expect(Object.values(proto.columns).map((values) => [...values][0])).toEqual([2 ** 40, "Ann é", 0.5]);
  expect(proto.errors).toMatchObject([{ row: 1 }]);
});
