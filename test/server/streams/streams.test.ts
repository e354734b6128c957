/** Streams on a real server: messages of its own topics become rows. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type StreamStanding, StreamService } from "../../../gen/svc/v1/stream_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Pusher } from "./pusher.ts";

const PROJECT = {
  "features.py": `from dataclasses import dataclass
from datetime import datetime
from typing import Optional
import json
import svc.functions as F
from svc.features import Features, FeatureTime, _, features
from svc.sources import TopicSource
from svc.streams import make_stream_resolver, stream

txns = TopicSource(name="txns", partitions=2)
plain = TopicSource(name="plain")
raw = TopicSource(name="raw")

@features(max_staleness="infinity")
class Txn:
    id: int
    amount: float
    at: FeatureTime
    memo: Optional[str]

@features(max_staleness="infinity")
class Plain:
    id: str
    twice: int
    at: FeatureTime

@features(max_staleness="infinity")
class Raw:
    id: int
    size: int

@dataclass
class TxnMsg:
    id: int
    amount: float
    at: datetime
    memo: Optional[str] = None

@dataclass
class PlainMsg:
    id: str
    number: int
    t: int

@stream(source=txns)
def on_txn(message: TxnMsg) -> Features[Txn.id, Txn.amount, Txn.at, Txn.memo]:
    """Payments."""
    if message.memo == "skip":
        return None
    if message.memo == "raise":
        raise ValueError("a bad memo")
    return Txn(id=message.id, amount=message.amount, at=message.at, memo=message.memo)

make_stream_resolver(
    name="on_plain",
    source=plain,
    message_type=PlainMsg,
    output_features={Plain.id: _.id, Plain.twice: _.number * 2, Plain.at: F.from_unix_seconds(_.t)},
)

def halve(message: bytes):
    return message[: len(message) // 2]

@stream(source=raw, parse=halve, name="on_raw")
def raw_message(message: bytes) -> Features[Raw.id, Raw.size]:
    return Raw(id=message[0], size=len(message))
`,
};

let folder: TempFolder;
let server: TestServer;
let pusher: Pusher;

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  const deployment = await deploy(server, PROJECT);
  expectLive(deployment);
  pusher = new Pusher(join(folder.path, "data"), deployment.environmentId);
});
afterAll(async () => {
  await pusher[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const stream = async (name: string): Promise<StreamStanding> => {
  const { stream } = await server.client(StreamService).getStream({ name });
  if (!stream) throw new Error("no stream");
  return stream;
};
const caughtUp = (name: string, messages: number) =>
  eventually(async () => {
    const { partitions } = await stream(name);
    return partitions.reduce((sum, { offset }) => sum + Number(offset ?? 0n), 0) >= messages;
  }, `${name} has read ${messages} messages`);

async function query(inputs: object, outputs: string[]): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}/v1/query/online`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify({ inputs, outputs }),
  });
  const { data } = (await response.json()) as { data: { field: string; value: unknown }[] };
  return Object.fromEntries(data.map(({ field, value }) => [field, value]));
}

describe("messages become rows", () => {
  test("by a Python function of a dataclass", async () => {
    await pusher.push("txns", [
      { id: 1, amount: 2, at: "2026-01-01T00:00:00Z", memo: "é" },
      { id: 2, amount: 1.5, at: "2026-01-01T00:00:01Z" },
      { id: 1, amount: 3.5, at: "2026-01-02T00:00:00Z" },
      { id: 3, amount: 9, at: "2026-01-02T00:00:00Z", memo: "skip" },
    ], 0, 2);
    await caughtUp("on_txn", 4);
    expect(await query({ "txn.id": 1 }, ["txn.amount", "txn.memo"])).toEqual({ "txn.amount": 3.5, "txn.memo": null });
    expect(await query({ "txn.id": 2 }, ["txn.amount"])).toEqual({ "txn.amount": 1.5 });
  });

  test("by expressions, without Python", async () => {
    await pusher.push("plain", [{ id: "a", number: 21, t: 1_700_000_000 }, '{"id": "b", "number": 9007199254740993, "t": 1, "more": 1}']);
    await caughtUp("on_plain", 2);
    expect(await query({ "plain.id": "a" }, ["plain.twice"])).toEqual({ "plain.twice": 42 });
  });

  test("of bytes, by parse", async () => {
    await pusher.push("raw", [new Uint8Array([7, 255, 0, 128])]);
    await caughtUp("on_raw", 1);
    expect(await query({ "raw.id": 7 }, ["raw.size"])).toEqual({ "raw.size": 2 });
  });
});
