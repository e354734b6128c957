/** Streams on a real server: messages of its own topics become rows. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema } from "../../../gen/svc/v1/error_pb.ts";
import { HealthService } from "../../../gen/svc/v1/health_pb.ts";
import { StreamService, type StreamStanding, StreamStatus } from "../../../gen/svc/v1/stream_pb.ts";
import { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Pusher } from "./pusher.ts";

const PROJECT = {
  "features.py": `from dataclasses import dataclass, field
from datetime import datetime
from typing import List, Optional
import json
import svc.functions as F
from svc.features import DataFrame, Features, FeatureTime, Validation, _, feature, features
from svc.sources import TopicSource
from svc.streams import Windowed, make_stream_resolver, stream, windowed

txns = TopicSource(name="txns", partitions=2)
plain = TopicSource(name="plain")
raw = TopicSource(name="raw")

def is_no_seven(value: float) -> bool:
    return value != 7

@features(max_staleness="infinity")
class Txn:
    id: int
    amount: float = feature(max=1000, validations=[Validation(check=is_no_seven)])
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

broken = TopicSource(name="broken")

@stream(source=broken)
def on_broken(message: dict) -> Features[Txn.id, Txn.amount]:
    return Txn(id=message["id"], amount=message["amount"] / DIVISOR)

DIVISOR = 0

def halve(message: bytes):
    return message[: len(message) // 2]

@stream(source=raw, parse=halve, name="on_raw")
def raw_message(message: bytes) -> Features[Raw.id, Raw.size]:
    return Raw(id=message[0], size=len(message))

calls = TopicSource(name="calls")

@features(max_staleness="infinity")
class Call:
    id: int
    caller_id: "Caller.id"
    seconds: int = feature(max=1000, validations=[Validation(min=0, strict=True)])
    fee: float
    at: FeatureTime

@features
class Caller:
    id: str
    calls: DataFrame[Call]
    seconds: Windowed[int] = windowed(
        "30d", expression=_.calls[_.seconds, _.at > _.svc_window, _.at <= _.svc_now].sum(), materialization={"bucket_duration": "1h"}, default=0
    )

@dataclass
class CallMsg:
    number: int
    caller: str
    seconds: str
    at: datetime
    tags: List[str] = field(default_factory=list)

@stream(source=calls)
def on_calls(ev: DataFrame[CallMsg]) -> DataFrame[Call.id, Call.caller_id, Call.seconds, Call.fee, Call.at]:
    return f"""
        select max(number) as id, caller as caller_id, sum(cast(seconds as bigint)) as seconds, 0.5 as fee, max({ev}.at) as at
        from {ev}
        where not list_contains(tags, 'test')
        group by caller
    """

visits = TopicSource(name="visits")

@features(max_staleness="infinity")
class Page:
    id: int
    site_id: "Site.id"
    ms: float
    at: FeatureTime

@features
class Site:
    id: str
    pages: DataFrame[Page]
    ms: Windowed[float] = windowed(
        "30d", expression=_.pages[_.ms, _.at > _.svc_window, _.at <= _.svc_now].sum(), materialization={"bucket_duration": "1h"}, default=0.0
    )

@dataclass
class Visit:
    site: str
    at: datetime
    pages: List[int]
    ms: float = 1.0

@stream(source=visits)
def on_visits(visits: DataFrame[Visit]) -> DataFrame[Page.id, Page.site_id, Page.ms, Page.at]:
    if visits.min("ms") < 0:
        raise ValueError("no time is below 0")
    return [
        Page(id=page if page else None, site_id=visit["site"], ms=visit["ms"], at=visit["at"])
        for visit in visits
        for page in visit["pages"]
    ]
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
    await pusher.push(
      "txns",
      [
        { id: 1, amount: 2, at: "2026-01-01T00:00:00Z", memo: "é" },
        { id: 2, amount: 1.5, at: "2026-01-01T00:00:01Z" },
        { id: 1, amount: 3.5, at: "2026-01-02T00:00:00Z" },
        { id: 3, amount: 9, at: "2026-01-02T00:00:00Z", memo: "skip" },
      ],
      0,
      2,
    );
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

describe("messages that came together become rows by a function of a DataFrame", () => {
  const at = new Date(Date.now() - 3_600_000).toISOString();
  const total = async () => Object.values(await query({ "site.id": "a" }, ["site.ms[30d]"]))[0];

  test("any number of them, which count in kept windows; only a message that is at fault is put aside", async () => {
    await pusher.push("visits", [
      { site: "a", at, pages: [1, 2, 3], ms: 10 },
      { site: "a", at, pages: [4], ms: -1 },
      "no json",
      { site: "b", at, pages: [] },
      { site: "a", at, pages: [5, 0] },
      { site: "a", at, pages: [6, 7], ms: 0.5 },
      { site: "a", at: new Date(Date.now() + 86_400_000).toISOString(), pages: [8] },
    ]);
    await caughtUp("on_visits", 7);
    expect(await total()).toBe(31);
    expect(await query({ "page.id": 7 }, ["page.ms", "page.site_id"])).toEqual({ "page.ms": 0.5, "page.site_id": "a" });
    const { deadLetters } = await server.client(StreamService).listDeadLetters({ name: "on_visits" });
    expect(deadLetters.toReversed().map(({ offset, reason, stage }) => [Number(offset), stage, reason])).toEqual([
      [1, "resolver", expect.stringContaining("raised ValueError: no time is below 0 (features.py:")],
      [2, "parse", expect.stringContaining("JSONDecodeError")],
      [4, "row", "it has no page.id, the primary key"],
      [6, "row", expect.stringContaining("its time is in the future")],
    ]);
  });

  test("and again on request, each once", async () => {
    const mended = PROJECT["features.py"].replace('visits.min("ms") < 0', "False").replace("page if page else None", "page");
    expectLive(await deploy(server, { "features.py": mended }));
    const service = server.client(StreamService);
    expect(await service.replayDeadLetters({ name: "on_visits" })).toMatchObject({ stored: 2n, skipped: 0n, failed: 2n });
    expect(await service.replayDeadLetters({ name: "on_visits" })).toMatchObject({ stored: 0n, failed: 2n });
    expect(await total()).toBe(32);
    expectLive(await deploy(server, PROJECT));
  });
});

describe("messages that came together become rows by a statement", () => {
  const at = new Date(Date.now() - 3_600_000).toISOString();
  const total = async (caller: string) => Object.values(await query({ "caller.id": caller }, ["caller.seconds[30d]"]))[0];
  const letters = async (name: string) => (await server.client(StreamService).listDeadLetters({ name })).deadLetters.toReversed();

  test("which count in kept windows; only a message that is at fault is put aside", async () => {
    await pusher.push("calls", [
      { number: 1, caller: "a", seconds: "30", at },
      { number: 2, caller: "a", seconds: "12", at, tags: ["long"] },
      { number: 3, caller: "b", seconds: "soon", at },
      "no json",
      { number: 4, caller: "b", seconds: "2000", at },
      { number: 5, caller: "c", seconds: "-1", at },
      { number: 6, caller: "b", seconds: "9", at, tags: ["test"] },
    ]);
    await caughtUp("on_calls", 7);
    expect([await total("a"), await total("b")]).toEqual([42, 2000]);
    expect(await query({ "call.id": 4 }, ["call.caller_id", "call.fee"])).toEqual({ "call.caller_id": "b", "call.fee": 0.5 });
    expect((await letters("on_calls")).map(({ offset, reason, stage }) => [Number(offset), stage, reason])).toEqual([
      [2, "resolver", expect.stringContaining("the statement of 'features.on_calls' failed: Could not convert string 'soon' to INT64")],
      [3, "parse", expect.stringContaining("it is no JSON")],
      [5, "row", "call.seconds: expected int with min=0, got int -1"],
    ]);
  });

  test("that is refused where it cannot be computed, at its place", async () => {
    const said = async (wrong: string, right: string): Promise<unknown[][]> => {
      const { diagnostics } = await deploy(server, { "features.py": PROJECT["features.py"].replace(right, wrong) });
      return diagnostics.map(({ code, message, span }) => [
        code,
        message,
        PROJECT["features.py"].split("\n")[(span?.line ?? 0) - 1]?.trim(),
      ]);
    };
    const line = "select max(number) as id, caller as caller_id, sum(cast(seconds as bigint)) as seconds, 0.5 as fee, max({ev}.at) as at";
    const refused = (problem: unknown, place = line): unknown[][] => [[206, problem, place]];
    const because = (problem: string) => expect.stringContaining(`the statement cannot be computed: ${problem}`);
    expect(await said("max(nubmer)", "max(number)")).toEqual(refused(because('Referenced column "nubmer" not found')));
    expect(await said("from {ev}, orders", "from {ev}")).toEqual(refused(because("there is no table orders, only ev"), "from {ev}"));
    expect(await said("from {ev}, read_csv('/etc/passwd')", "from {ev}")).toEqual(refused(because("read_csv cannot be used"), "from {ev}"));
    expect(await said("from {ev}, '/etc/passwd'", "from {ev}")).toEqual(refused(because("there is no table /etc/passwd"), "from {ev}"));
    expect(await said("getenv('HOME') as caller_id", "caller as caller_id")).toEqual(refused(because("getenv cannot be used here")));
    expect(await said("seconds as seconds", "sum(cast(seconds as bigint)) as seconds")).toEqual(
      refused(expect.stringContaining('"seconds" must appear in the GROUP BY clause')),
    );
    expect(await said("count(*) as calls, 0.5 as fee", "0.5 as fee")).toEqual(
      refused(because("its column calls is none of the outputs, which are id, caller_id, seconds, fee, at"), 'return f"""'),
    );
    expect(await said("", "0.5 as fee, ")).toEqual(refused(because("it has no column fee"), 'return f"""'));
    expect(await said("'x' as fee", "0.5 as fee")).toEqual(
      refused(because("its column fee is VARCHAR, and the feature is float"), 'return f"""'),
    );
    expect(await said("drop table x", "select max(number)")).toHaveLength(1);
    expect(await total("a")).toBe(42);
  });
});

test("values that break validations which only count them are stored, and counted", async () => {
  const counted = async (feature: string) => {
    const response = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${await server.token()}` } });
    return (await response.text()).split("\n").filter((one) => one.includes("validation_failures") && one.includes(`"${feature}"`));
  };
  await pusher.push(
    "txns",
    [
      { id: 21, amount: 7, at: "2026-01-01T00:00:00Z" },
      { id: 22, amount: 5_000, at: "2026-01-01T00:00:00Z" },
    ],
    0,
    2,
  );
  await caughtUp("on_txn", 6);
  expect(await query({ "txn.id": 22 }, ["txn.amount"])).toEqual({ "txn.amount": 5_000 });
  for (const [feature, values] of [
    ["txn.amount", 2],
    ["call.seconds", 1],
  ] as const)
    await eventually(async () => (await counted(feature)).join().endsWith(` ${values}`), `${values} values of ${feature} are counted`);
});

test("a function of a DataFrame that fails for all messages stops the stream, without a call for each of many", async () => {
  const broken = PROJECT["features.py"].replace('visits.min("ms") < 0', "True");
  expectLive(await deploy(server, { "features.py": broken }));
  const before = (await stream("on_visits")).deadLetters;
  await pusher.push(
    "visits",
    Array.from({ length: 2_000 }, (_, id) => ({ site: "c", at: "2026-01-01T00:00:00Z", pages: [1_000 + id] })),
  );
  await eventually(async () => (await stream("on_visits")).status === StreamStatus.FAILED, "the stream is stopped");
  expect(await stream("on_visits")).toMatchObject({
    problem: expect.stringContaining("100 messages in a row failed in the same way: resolver 'features.on_visits' raised ValueError"),
    deadLetters: before,
    lag: 2_000n,
  });
  expectLive(await deploy(server, PROJECT));
  await caughtUp("on_visits", 2_007);
  expect((await stream("on_visits")).deadLetters).toBe(before);
  expect(await query({ "page.id": 2_999 }, ["page.ms"])).toEqual({ "page.ms": 1 });
});

describe("messages that fail", () => {
  const letters = async (name: string) => (await server.client(StreamService).listDeadLetters({ name })).deadLetters;

  test("are put aside with their bytes, their place and the reason, and the others are stored", async () => {
    const now = Date.now();
    await pusher.push(
      "txns",
      [
        { id: 10, amount: 1, at: "2026-01-01T00:00:00Z" },
        "{no json",
        { id: 11, at: "2026-01-01T00:00:00Z" },
        { id: 12.5, amount: 1, at: "2026-01-01T00:00:00Z" },
        { id: 13, amount: 1, at: new Date(now + 86_400_000).toISOString() },
        { id: 14, amount: 1, at: "2026-01-01T00:00:00Z", memo: "raise" },
        new Uint8Array([123, 255, 125]),
        { id: 15, amount: 5, at: "2026-01-01T00:00:00Z" },
      ],
      1,
      2,
    );
    await caughtUp("on_txn", 14);
    const found = (await letters("on_txn")).toReversed();
    expect(found.map(({ partition, offset, stage }) => [partition, Number(offset), stage])).toEqual([
      [1, 1, "parse"],
      [1, 2, "parse"],
      [1, 3, "parse"],
      [1, 4, "row"],
      [1, 5, "resolver"],
      [1, 6, "parse"],
    ]);
    const reasons = found.map(({ reason }) => reason);
    expect(reasons[0]).toStartWith("JSONDecodeError: Expecting property name enclosed in double quotes");
    expect(reasons[1]).toBe("BadMessage: TxnMsg.amount is missing");
    expect(reasons[2]).toBe("BadMessage: TxnMsg.id: an integer is expected, and this is a number: 12.5");
    expect(reasons[3]).toStartWith("its time is in the future: ");
    expect(reasons[4]).toBe("resolver 'features.on_txn' raised ValueError: a bad memo (features.py:54)");
    expect(reasons[5]).toStartWith("UnicodeDecodeError");
    expect(new TextDecoder().decode(found[0]?.value)).toBe("{no json");
    expect(found[5]?.value).toEqual(new Uint8Array([123, 255, 125]));
    expect(await query({ "txn.id": 15 }, ["txn.amount"])).toEqual({ "txn.amount": 5 });
    expect((await stream("on_txn")).deadLetters).toBe(6n);
  });

  test("without Python too", async () => {
    await pusher.push("plain", ["[]", { id: "c", number: 1 }, { id: "c", number: "1", t: 1 }, { id: "d", number: 4, t: 5 }]);
    await caughtUp("on_plain", 6);
    expect((await letters("on_plain")).toReversed().map(({ reason }) => reason)).toEqual([
      "expected an object with the fields of PlainMsg, got list of 0",
      "expected the field PlainMsg.t, got nothing",
      'expected int, got str "1" at PlainMsg.number',
    ]);
    expect(await query({ "plain.id": "d" }, ["plain.twice"])).toEqual({ "plain.twice": 8 });
  });

  test("all in the same way stop the stream before them, and it goes on with the next deployment", async () => {
    // There is no such host: what is counted are deliveries, which wait.
    const webhooks = server.client(WebhookService);
    await webhooks.createWebhook({ name: "ops", url: "https://hooks.invalid/x", subscriptions: ["stream.stopped"] });
    const messages = Array.from({ length: 150 }, (_, id) => ({ id: 1_000 + id, amount: id }));
    await pusher.push("broken", messages);
    await eventually(async () => (await stream("on_broken")).status === StreamStatus.FAILED, "the stream is stopped");
    const stopped = await stream("on_broken");
    expect(stopped.problem).toContain("messages in a row failed in the same way: resolver 'features.on_broken' raised ZeroDivisionError");
    expect(stopped.partitions.map(({ offset }) => offset)).toEqual([undefined]);
    expect(stopped.deadLetters).toBe(0n);
    const said = server.log.filter(({ message, stream }) => message === "a stream was stopped" && stream === "features.on_broken");
    expect(said).toHaveLength(1);
    await eventually(async () => (await webhooks.listWebhookDeliveries({})).deliveries.length > 0, "the webhook is told");
    expect((await webhooks.listWebhookDeliveries({})).deliveries.map(({ subscription }) => subscription)).toEqual(["stream.stopped"]);
    const { checks } = await server.client(HealthService).checkHealth({});
    expect(checks.find(({ name }) => name === "Streams")?.message).toContain("features.on_broken in environment 'default' was stopped");
    expectLive(await deploy(server, { "features.py": PROJECT["features.py"].replace("DIVISOR = 0", "DIVISOR = 2") }));
    await caughtUp("on_broken", 150);
    expect(await query({ "txn.id": 1_149 }, ["txn.amount"])).toEqual({ "txn.amount": 74.5 });
    expect((await stream("on_broken")).status).toBe(StreamStatus.RUNNING);
    expect((await webhooks.listWebhookDeliveries({})).deliveries).toHaveLength(1);
    // The others went on from where they were.
    expect((await stream("on_txn")).partitions.map(({ offset }) => offset)).toEqual([6n, 8n]);
  });

  test("are computed again on request, once each; those that fail again stay", async () => {
    const fixed = PROJECT["features.py"].replace("DIVISOR = 0", "DIVISOR = 2").replace('raise ValueError("a bad memo")', "pass");
    expectLive(await deploy(server, { "features.py": fixed }));
    const service = server.client(StreamService);
    const done = await service.replayDeadLetters({ name: "on_txn" });
    expect(done).toMatchObject({ stored: 1n, skipped: 0n, failed: 5n, more: false });
    expect(await query({ "txn.id": 14 }, ["txn.memo"])).toEqual({ "txn.memo": "raise" });
    expect((await letters("on_txn")).map(({ offset }) => Number(offset)).sort()).toEqual([1, 2, 3, 4, 6]);
    expect(await service.replayDeadLetters({ name: "on_txn" })).toMatchObject({ stored: 0n, failed: 5n });
    expect(service.replayDeadLetters({ name: "on_txn", ids: [9_999n] })).rejects.toThrow("has no dead letter 9999");
  });
});

describe("a stream is steered", () => {
  test("paused, it reads nothing until it is resumed", async () => {
    const service = server.client(StreamService);
    expect((await service.pauseStream({ name: "features.on_raw" })).stream?.status).toBe(StreamStatus.PAUSED);
    await eventually(async () => (await stream("on_raw")).partitions.every(({ node }) => node === ""), "no node reads it");
    await pusher.push("raw", [new Uint8Array([8, 1, 1, 1, 1, 1])]);
    expect(await stream("on_raw")).toMatchObject({ status: StreamStatus.PAUSED, lag: 1n });
    expect((await service.resumeStream({ name: "on_raw" })).stream?.status).not.toBe(StreamStatus.PAUSED);
    await caughtUp("on_raw", 2);
    expect(await query({ "raw.id": 8 }, ["raw.size"])).toEqual({ "raw.size": 3 });
  });

  test("sought by place and time, it goes on there", async () => {
    const service = server.client(StreamService);
    await service.pauseStream({ name: "on_raw" });
    const at = async (to: Parameters<typeof service.seekStream>[0]["to"]) =>
      (await service.seekStream({ name: "on_raw", ...(to && { to }) })).stream?.partitions.map(({ offset }) => offset);
    expect(await at({ case: "earliest", value: true })).toEqual([0n]);
    expect(await at({ case: "offset", value: 1n })).toEqual([1n]);
    expect(await at({ case: "time", value: { seconds: 0n, nanos: 0 } as never })).toEqual([0n]);
    expect(await at({ case: "latest", value: true })).toEqual([2n]);
    expect(at({ case: "offset", value: 9n })).rejects.toThrow("Partition 0 of topic 'raw' holds the offsets 0 to 2, not 9.");
    expect(service.seekStream({ name: "on_raw" })).rejects.toThrow("Nothing says where the stream is to go on.");
    expect(service.getStream({ name: "on_rwa" })).rejects.toThrow("There is no stream 'on_rwa'");
    const hint = await service
      .getStream({ name: "on_rwa" })
      .catch((error: unknown) => ConnectError.from(error).findDetails(ErrorDetailSchema)[0]?.hint);
    expect(hint).toContain("did you mean 'on_raw'");
    await service.resumeStream({ name: "on_raw" });
  });
});
