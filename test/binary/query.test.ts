/** Every way to query, with the compiled binary and the server that it started. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { PLANNER_OPTIONS } from "../../src/domain/planner-options.ts";
import { Sandbox } from "../harness/sandbox.ts";

const PROJECT = {
  "svc.yaml": "project: shop\nenvironments:\n  default: {}\n",
  "features.py": `import svc
from svc import NamedQuery, SQLiteSource, online
from svc.features import DataFrame, FeatureTime, Windowed, _, feature, features, has_many, windowed

lite = SQLiteSource(name="lite", path="shop.db")


@features
class Item:
    id: int
    user_id: "User.id"
    price: float
    at: FeatureTime


@features(max_staleness="1h")
class User:
    id: int
    name: str
    risk: str = feature(max_staleness="0s")
    told: str = feature(max_staleness="0s")
    items: "DataFrame[Item]" = has_many(lambda: Item.user_id == User.id)
    spent: float = feature(max_staleness="0s", expression=_.items[_.price].sum())
    bought: Windowed[int] = windowed("1d", "7d", max_staleness="0s", expression=_.items[_.at > _.svc_window, _.at <= _.svc_now].count())


@online(tags=["vendor:live"])
def live(id: User.id) -> User.risk:
    return "/".join(["live", str(id)])


@online
def usual(id: User.id) -> User.risk:
    return "/".join(["usual", str(id)])


@online
def told(id: User.id) -> User.told:
    return str(svc.query_context().get("who")) + " " + svc.traceparent()


NamedQuery(name="card", version="2.0.0", input=[User.id], output=[User.risk], tags=["vendor:live"])
`,
  "users.svc.sql": "-- resolves: User\n-- source: lite\nselect id, name from users\n",
  "items.svc.sql": "-- resolves: Item\n-- source: lite\nselect id, user_id, price, at from items\n",
};
const NOW = ["--now", "2024-05-08T00:00:00Z"];

const sandbox = new Sandbox();
let project = "";
const query = (...words: string[]) => sandbox.svc(["query", ...words], { cwd: project });
const lastLine = ({ stdout }: { stdout: string }) => stdout.trimEnd().split("\n").at(-1) ?? "";

interface Json {
  readonly data: { readonly field: string; readonly value: unknown }[];
  readonly meta: {
    readonly query_id: string;
    readonly trace_id?: string;
    readonly plan_stages?: number;
    readonly explain_output?: string;
    readonly spans?: { readonly kind: string; readonly name: string; readonly attributes: Record<string, string> }[];
  };
}
const json = (...words: string[]) => sandbox.json<Json>(["query", ...words], { cwd: project });
const values = ({ data }: Json) => Object.fromEntries(data.map(({ field, value }) => [field, value]));

beforeAll(async () => {
  await sandbox.startServer();
  project = await sandbox.write(PROJECT);
  const db = new Database(join(project, "shop.db"));
  db.run("create table users (id integer primary key, name text)");
  db.run("insert into users values (1, 'ann'), (2, 'bob'), (3, 'eve')");
  db.run("create table items (id integer primary key, user_id int, price real, at text)");
  db.run(
    "insert into items values (10, 1, 2.5, '2024-05-07T12:00:00Z'), (11, 1, 4, '2024-05-02T00:00:00Z'), (12, 2, 1, '2024-05-01T12:00:00Z')",
  );
  db.close();
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

test("a traced query prints its spans, or has them in its JSON", async () => {
  const words = ["--in", "user.id=1", "--out", "user.name,user.spent,user.told", "--trace", ...NOW];
  const done = await query(...words);
  expect([done.exitCode, done.stderr]).toEqual([0, ""]);
  const [, tree = ""] = done.stdout.split(/^Trace [0-9a-f]{32}$/m);
  for (const line of [
    /^QueryService\.Query +svc +\+0\.00 ms +[\d.]+ ms$/m,
    /^├─ sql users +svc +\+[\d.]+ ms +[\d.]+ ms {2}rows 1 -> 1\n│ {2}└─ sql lite +svc +\+[\d.]+ ms +[\d.]+ ms {2}rows 1\n│ +select /m,
    /─ rows items +svc +\+[\d.]+ ms +[\d.]+ ms {2}rows 1 -> 2$/m,
    /─ python features\.told +svc +\+[\d.]+ ms +[\d.]+ ms {2}rows 1 -> 1\n.*└─ worker features\.told +svc-python /m,
    /─ expression user\.spent/m,
  ])
    expect(tree).toMatch(line);
  const { data, meta } = await json(...words);
  expect(data.find(({ field }) => field === "user.told")?.value).toStartWith(`None 00-${meta.trace_id}-`);
  expect(meta.spans?.find(({ kind }) => kind === "sql")?.attributes["db.query.text"]).toContain("from items");
}, 300_000);

test("stages are kept of the run that it names", async () => {
  const done = await query("--bulk", "--in", "user.id=1", "--in", "user.id=2", "--out", "user.spent", "--store-plan-stages", ...NOW);
  const [, count, url = ""] = /^(\d+) stages are kept: (\S+)#stages\n$/.exec(done.stderr) ?? [];
  const asked = async (method: string, body: object) =>
    (await (
      await fetch(`${sandbox.url}/svc.v1.QueryService/${method}`, {
        method: "POST",
        headers: { authorization: `Bearer ${await sandbox.accessToken()}`, "content-type": "application/json" },
        body: JSON.stringify({ queryId: url.split("/").at(-1), ...body }),
      })
    ).json()) as { readonly stages: readonly { readonly stage?: number }[] };
  const { stages } = await asked("GetQueryRunStages", {});
  expect(stages).toHaveLength(Number(count));
  const { stage = 0 } = stages.find((one) => JSON.stringify(one).includes("user.items.price")) ?? { stage: -1 };
  expect(JSON.stringify(await asked("GetQueryRunStageRows", { stage }))).toContain("2.5");
}, 300_000);

test("the help has every planner option with its values", async () => {
  const { stdout } = await query("--help");
  for (const [name, { values: wanted, meaning }] of Object.entries(PLANNER_OPTIONS)) {
    expect(stdout).toContain(`${name}=<${wanted}>`);
    expect(stdout).toContain(meaning);
  }
});

test("planner options, tags, named queries and the context", async () => {
  const risk = ["--in", "user.id=3", "--out", "user.risk"];
  expect(values(await json(...risk))).toEqual({ "user.risk": "usual/3" });
  expect(values(await json(...risk, "--tag", "vendor:live"))).toEqual({ "user.risk": "live/3" });
  expect(values(await json("--in", "user.id=3", "--query-name", "card", "--query-name-version", "2.0.0"))).toEqual({
    "user.risk": "live/3",
  });
  const wrong = await query(...risk, "--planner-option", "disable_cache_read=true", "--json");
  expect([wrong.exitCode, wrong.stdout]).toEqual([2, ""]);
  expect((JSON.parse(wrong.stderr) as { error: { message: string } }).error.message).toContain("did you mean 'disable_cache_reads'");
  expect(values(await json("--in", "user.id=3", "--out", "user.told", "--query-context", "who=me"))).toEqual({ "user.told": "me " });
  const explained = await json(...risk, "--tag", "vendor:live", "--explain");
  expect(explained.meta.explain_output).toMatch(/features\.live .*\n.*not features\.usual .*: features\.live matches more tags/);
}, 300_000);

test("windows are named readably in JSON when asked, and rows of bulk queries are lists", async () => {
  const words = ["--in", "user.id=1", "--out", "user.bought", ...NOW];
  expect(values(await json(...words))).toEqual({ "user.bought__86400__": 1, "user.bought__604800__": 2 });
  expect(values(await json(...words, "--translate-fqns"))).toEqual({ "user.bought[1d]": 1, "user.bought[7d]": 2 });
  const { data } = (await json("--bulk", ...words, "--in", "user.id=2", "--translate-windows")) as unknown as { data: object };
  expect(data).toEqual({ "user.bought[1d]": [1, 0], "user.bought[7d]": [2, 1] });
}, 300_000);

test("--repeat asks until it is interrupted, an object a line", async () => {
  const words = ["query", "--in", "user.id=1", "--out", "user.risk", "--repeat", "50ms", "--trace", "--json"];
  const child = Bun.spawn([sandbox.binary, ...words], { cwd: project, env: sandbox.env, stdout: "pipe", stderr: "ignore" });
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.split("\n").length > 3) child.kill("SIGINT");
  }
  const answers = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Json);
  expect(answers.length).toBeGreaterThanOrEqual(3);
  expect(new Set(answers.map(({ meta }) => meta.trace_id)).size).toBe(answers.length);
  expect(await child.exited).not.toBe(0);
}, 300_000);

test("a correlation id is in the record of the run; figures reach StatsD; a load test writes its file", async () => {
  const done = await query("--in", "user.id=1", "--out", "user.risk", "--correlation-id", "order-77");
  expect((await sandbox.svc(["queries", "get", lastLine(done).split("/").at(-1) ?? ""])).stdout).toContain("order-77");
  const received: string[] = [];
  const statsd = await Bun.udpSocket({ hostname: "127.0.0.1", socket: { data: (_socket, data) => void received.push(data.toString()) } });
  const file = join(sandbox.work, "load.json");
  const load = ["--benchmark", "--qps", "50", "--duration", "400ms", "--warmup-duration", "100ms", "--benchmark-output", file];
  const statsdAt = ["--statsd-host", "127.0.0.1", "--statsd-port", String(statsd.port)];
  const ran = await query("--in", "user.id=1", "--out", "user.risk", ...load, ...statsdAt);
  statsd.close();
  expect([ran.exitCode, ran.stdout.match(/^p99 +\d+\.\d\d$/m)?.length]).toEqual([0, 1]);
  const report = (await Bun.file(file).json()) as { answered: number; latency_ms: { p50: number } };
  expect(report.answered).toBe(20);
  expect(received.filter((text) => text.includes("svc.query.latency:"))).toHaveLength(20);
}, 300_000);

test("the table of a failing query ends with what failed, and a pipe has no colour", async () => {
  const done = await query("--in", "user.id=9", "--out", "user.name,user.risk");
  expect(done.exitCode).toBe(1);
  expect(done.stdout).toMatch(/^user\.risk +- +usual\/9$/m);
  expect(done.stdout).toMatch(/^user\.name +- +\(failed\)$/m);
  expect(done.stderr).toContain("users (users.svc.sql:1) found no row with user.id = 9");
  expect(done.stdout + done.stderr).not.toContain("\u001b");
}, 300_000);
