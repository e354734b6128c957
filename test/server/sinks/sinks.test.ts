/** Sinks of a deployment: which rows they are given, when, and what becomes of calls that fail. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GraphService } from "../../../gen/svc/v1/graph_pb.ts";
import { QueryErrorService } from "../../../gen/svc/v1/query_error_pb.ts";
import { TopicService } from "../../../gen/svc/v1/topic_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, type ProjectFiles } from "../deployments/deploying.ts";

setDefaultTimeout(120_000);

const PROJECT = (folder: string): ProjectFiles => ({
  "features.py": `import json
import os
from dataclasses import dataclass
from svc import online, query_id
from svc.features import DataFrame, Features, features
from svc.sources import TopicSource
from svc.streams import sink, stream

@features
class User:
    id: int
    name: str
    score: float
    other: str

@features
class Txn:
    id: int
    amount: float

@online
def score(id: User.id) -> User.score:
    return id * 1.5

@online
def other(id: User.id) -> User.other:
    return "x"

def write(name, rows):
    with open(os.path.join(${JSON.stringify(folder)}, name), "a") as out:
        out.write(json.dumps(rows.to_dicts()) + "\\n")

@sink(buffer_size=3, debounce="300ms", max_delay="2s", owner="data@example.com")
def told(rows: DataFrame[User.id, User.name, User.score]) -> None:
    """Tells of scores."""
    write("told", rows)

@sink(tags=["audited"], debounce="10ms", max_delay="10ms")
async def audited(rows: DataFrame[User.id, User.score]) -> None:
    write("audited", rows)

@sink(debounce="10ms", max_delay="10ms", environment="elsewhere")
def elsewhere(rows: DataFrame[User.id, User.score]) -> None:
    write("elsewhere", rows)

@sink(debounce="10ms", max_delay="10ms")
def fails(rows: DataFrame[User.id, User.other]) -> None:
    write("tried", rows)
    with open(os.path.join(${JSON.stringify(folder)}, "printed"), "a") as out:
        out.write(json.dumps(query_id()) + "\\n")
    if not os.path.exists(os.path.join(${JSON.stringify(folder)}, "mended")):
        raise ValueError("the other side is down")

@sink(debounce="1h", max_delay="1h")
def late(rows: DataFrame[User.id, User.score]) -> None:
    write("late", rows)

@dataclass
class TxnMsg:
    id: int
    amount: float

@stream(source=TopicSource(name="txns"))
def on(message: TxnMsg) -> Features[Txn.id, Txn.amount]:
    return Txn(id=message.id, amount=message.amount)

@sink(debounce="10ms", max_delay="10ms")
def streamed(rows: DataFrame[Txn]) -> None:
    write("streamed", rows)
`,
});

describe("sinks", () => {
  const folder = new TempFolder();
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(join(folder.path, "data"), { env: { PATH: process.env.PATH, HOME: process.env.HOME } });
    expectLive(await deploy(server, PROJECT(folder.path)));
  });
  afterAll(async () => {
    await server.server.stop();
    folder[Symbol.dispose]();
  });

  const ask = async (inputs: Readonly<Record<string, unknown>>, output: string, tags: readonly string[] = []): Promise<unknown> => {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({ inputs, outputs: [output], context: { tags } }),
    });
    return response.json();
  };
  /** Calls of a sink, each with its rows. */
  const calls = (name: string): unknown[] => {
    const path = join(folder.path, name);
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  };

  test("rows are handed over as many as fit, and fewer after the pause; what the query did not know is None", async () => {
    for (const id of [1, 2, 3]) await ask({ "user.id": id }, "user.score");
    await ask({ "user.id": 4, "user.name": "d" }, "user.score");
    await eventually(() => calls("told").length === 2, "both calls are made");
    const row = (id: number, name: string | null = null) => ({ "user.id": id, "user.name": name, "user.score": id * 1.5 });
    expect(calls("told")).toEqual([[row(1), row(2), row(3)], [row(4, "d")]]);
  });

  test("only what was computed is told of, with the tags, in the environment", async () => {
    await ask({ "user.id": 5, "user.score": 1 }, "user.name");
    await ask({ "user.id": 6 }, "user.score", ["audited"]);
    await eventually(() => calls("audited").length === 1, "the call is made");
    expect(calls("audited")).toEqual([[{ "user.id": 6, "user.score": 9 }]]);
    expect(JSON.stringify(calls("told"))).not.toContain('"user.id":5');
    expect(calls("elsewhere")).toEqual([]);
  });

  test("rows of a stream are handed over", async () => {
    await server.client(TopicService).pushMessages({
      topicName: "txns",
      messages: [{ value: new TextEncoder().encode('{"id": 7, "amount": 2.5}') }],
    });
    await eventually(() => calls("streamed").length === 1, "the row is handed over");
    expect(calls("streamed")).toEqual([[{ "txn.id": 7, "txn.amount": 2.5 }]]);
  });

  test("a call that fails is repeated with its rows, and its error is kept", async () => {
    await ask({ "user.id": 8 }, "user.other");
    await eventually(() => calls("tried").length >= 2, "it is tried again");
    writeFileSync(join(folder.path, "mended"), "");
    const row = [{ "user.id": 8, "user.other": "x" }];
    const tried = calls("tried").length;
    await eventually(() => calls("tried").length > tried, "it is tried until it succeeds");
    expect(calls("tried").slice(0, 2)).toEqual([row, row]);
    const errors = server.client(QueryErrorService);
    await eventually(async () => (await errors.listQueryErrors({})).errors.length > 0, "the errors are kept");
    const [error] = (await errors.listQueryErrors({})).errors;
    expect(error).toMatchObject({ resolver: "features.fails", operationKind: "sink" });
    expect(error?.message).toContain("the other side is down");
    expect(calls("printed")).toContain(error?.operationId);
    rmSync(join(folder.path, "mended"));
  });

  test("the graph and the lineage tell of it", async () => {
    const { sinkResolver, resolver, source } = await server.client(GraphService).getResolver({ resolver: "told" });
    expect(resolver).toBeUndefined();
    expect(sinkResolver).toMatchObject({ fqn: "features.told", bufferSize: 3, owner: "data@example.com", description: "Tells of scores." });
    expect(source?.text).toContain("def told");
    const { edges } = await server.client(GraphService).getLineage({ on: "features.late" });
    expect(edges).toContainEqual(expect.objectContaining({ from: "feature:user.score", to: "resolver:features.late" }));
  });

  test("what waits is handed over when the deployment stops", async () => {
    expect(calls("late")).toEqual([]);
    await server.server.stop();
    expect(calls("late").flat()).toContainEqual({ "user.id": 4, "user.score": 6 });
  });
});
