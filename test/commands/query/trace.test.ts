/**
 * `svc query --trace`, `--store-plan-stages`, `--planner-option`, named queries and the context of
 * a query, on the real server.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ask, type Platform, runCommand, startPlatform, writeProject } from "../platform.ts";

let platform: Platform;
let project = "";
const run = (...words: string[]) => runCommand("query", words, { home: platform.home, env: platform.env, dir: project });

const CARDS = `import svc
from svc import NamedQuery, online
from svc.features import feature, features


@features(max_staleness="1h")
class Card:
    id: int
    risk: str
    owner: str = feature(max_staleness="0s")
    torn: int = feature(max_staleness="0s")
    seen: str = feature(max_staleness="0s")
    counted: str = feature(max_staleness="0s")


@online(tags=["vendor:live"])
def live_risk(id: Card.id) -> Card.risk:
    return "/".join(["live", str(id)])


@online
def usual_risk(id: Card.id) -> Card.risk:
    return "/".join(["usual", str(id)])


@online(tags=["a"])
def torn_one(id: Card.id) -> Card.torn:
    return 1


@online(tags=["b"])
def torn_two(id: Card.id) -> Card.torn:
    return 2


@online
def owner(id: Card.id) -> Card.owner:
    given, refused = svc.query_context(), []
    for change in (lambda: given.update(who="me"), lambda: given["deep"].clear(), lambda: given["deep"]["list"].append(1)):
        try:
            change()
        except AttributeError:
            refused.append("refused")
    return " ".join([given["deep"]["list"][1]["who"], *refused])


@online
def counted(id: Card.id) -> Card.counted:
    number = svc.query_context()["n"]
    return f"{number} {type(number).__name__}"


@online
def seen(id: Card.id) -> Card.seen:
    return svc.traceparent()


NamedQuery(name="card", version="1", input=[Card.id], output=[Card.risk])
NamedQuery(
    name="card", version="2", input=[Card.id], output=[Card.risk], tags=["vendor:live"], planner_options={"disable_cache_reads": "true"}
)
`;

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject({ "cards.py": CARDS });
  const done = await runCommand("apply", ["--force", "--await"], { home: platform.home, env: platform.env, dir: project });
  if (done.exitCode !== 0) throw new Error(done.stderr);
}, 300_000);
afterAll(() => platform.server.stop());

interface Json {
  readonly data: { readonly field: string; readonly value: unknown }[];
  readonly meta: {
    readonly query_id: string;
    readonly trace_id?: string;
    readonly plan_stages?: number;
    readonly spans?: { span_id: string; parent_span_id?: string; kind: string; name: string; start_ms: number; duration_ms: number }[];
  };
}

describe("--trace", () => {
  test("prints the trace's id and a tree with milliseconds below the table", async () => {
    const done = await run("--in", "card.id=1", "--out", "card.seen", "--trace");
    expect([done.exitCode, done.stderr]).toEqual([0, ""]);
    const [header, row, , blank, title, ...tree] = done.stdout.trimEnd().split("\n");
    expect(header).toMatch(/^Name +Hit\? +Value$/);
    const [, trace, worker] = /^card\.seen +- +00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(row ?? "") ?? [];
    expect([blank, title]).toEqual(["", `Trace ${trace}`]);
    expect(worker).toBeDefined();
    expect(tree.map((line) => line.replace(/ +(svc|svc-python) +\+\d+\.\d+ ms +\d+\.\d+ ms.*/, ""))).toEqual([
      "QueryService.Query",
      "├─ deployment",
      "├─ plan",
      "└─ python cards.seen",
      "   └─ worker cards.seen",
    ]);
    expect(new Set(tree.map((line) => line.search(/ ms/))).size).toBe(1);
    expect(tree[3]).toContain("rows 1 -> 1");
  });

  test("with --json puts the spans into the meta, once a line with --repeat too", async () => {
    const { data, meta } = (await run("--in", "card.id=1", "--out", "card.seen", "--trace", "--json")).json() as Json;
    const spans = meta.spans ?? [];
    expect(data[0]?.value).toStartWith(`00-${meta.trace_id}-${spans.find(({ kind }) => kind === "worker")?.span_id}`);
    expect(spans[0]).toMatchObject({ kind: "gateway", start_ms: 0 });
    const whole = spans[0]?.duration_ms ?? 0;
    for (const { start_ms, duration_ms } of spans) expect(start_ms + duration_ms).toBeLessThanOrEqual(whole + 0.01);
    expect(spans.slice(1).every((span) => spans.some(({ span_id }) => span_id === span.parent_span_id))).toBe(true);
  });

  test("of a bulk query of which a row fails says so", async () => {
    const python = ["--planner-option", "disable_translation=true"];
    const bulk = await run("--bulk", "--in", "user.id=1", "--in", "user.id=13", "--out", "user.fragile", "--trace", ...python);
    expect(bulk.exitCode).toBe(1);
    expect(bulk.stdout).toMatch(
      /python resolvers\.fragile +svc +\+[\d.]+ ms +[\d.]+ ms {2}rows 2 -> 1, rows failed 1, .*ValueError: unlucky number/,
    );
  });

  test("without it nothing is said of traces", async () => {
    const done = await run("--in", "card.id=1", "--out", "card.seen");
    expect(done.stdout).not.toContain("Trace");
    expect(((await run("--in", "card.id=1", "--out", "card.seen", "--json")).json() as Json).meta).not.toHaveProperty("trace_id");
  });
});

describe("--store-plan-stages", () => {
  test("says where to look, and there they are", async () => {
    const done = await run("--in", "card.id=1", "--out", "card.seen", "--store-plan-stages");
    const [, count, url] = /^(\d+) stages? (?:is|are) kept: (\S+)#stages$/m.exec(done.stderr) ?? [];
    expect(Number(count)).toBeGreaterThan(0);
    expect(done.stdout).toContain(url ?? "?");
    const { stages } = (await ask(platform, "QueryService/GetQueryRunStages", { queryId: url?.split("/").at(-1) })) as { stages: object[] };
    expect(stages).toHaveLength(Number(count));
    const { meta } = (await run("--in", "card.id=1", "--out", "card.seen", "--store-plan-stages", "--json")).json() as Json;
    expect(meta.plan_stages).toBe(Number(count));
  });
  test("and --trace are not for load tests", async () => {
    for (const flag of ["--trace", "--store-plan-stages"]) {
      const done = await run("--in", "card.id=1", "--benchmark", flag);
      expect([done.exitCode, done.stderr]).toEqual([2, expect.stringContaining(`--benchmark and ${flag} exclude each other`)]);
    }
  });
});

describe("--planner-option", () => {
  test("chooses among resolvers, and what there is not is told with what there is", async () => {
    const risk = ["--in", "card.id=5", "--out", "card.risk", "--tag", "vendor:live"];
    expect((await run(...risk, "--planner-option", "required_resolver_tags=vendor")).stdout).toContain("live/5");
    const wrong = await run(...risk, "--planner-option", "required_resolver_tag=vendor", "--planner-option", "max_batch_rows=many");
    expect(wrong.exitCode).toBe(2);
    expect(wrong.stderr).toContain("unknown planner option 'required_resolver_tag'; did you mean 'required_resolver_tags'?");
    expect(wrong.stderr).toContain("planner option 'max_batch_rows': expected 1 to 1000, got 'many'");
  });
  test("turns the store off, one way or both", async () => {
    const ask = async (...options: string[]) =>
      (await run("--in", "card.id=6", "--out", "card.risk", ...options.flatMap((option) => ["--planner-option", option]))).stdout;
    expect(await ask("disable_cache_writes=true")).not.toContain("✓");
    expect(await ask()).not.toContain("✓");
    expect(await ask()).toContain("✓");
    expect(await ask("disable_cache_reads=true")).not.toContain("✓");
  });
});

test("a named query with a planner option that there is not is not deployed", async () => {
  const wrong = CARDS.replace('planner_options={"disable_cache_reads": "true"}', 'planner_options={"disable_cache": "true"}');
  const folder = writeProject({ "cards.py": wrong });
  const done = await runCommand("apply", ["--force", "--await", "--branch=wrong"], { home: platform.home, env: platform.env, dir: folder });
  expect(done.exitCode).toBe(1);
  expect(done.stdout + done.stderr).toMatch(
    /\[170\]: named query 'card 2': unknown planner option 'disable_cache'; did you mean 'disable_cache_reads'/,
  );
});

describe("named queries", () => {
  const value = async (...words: string[]) => (await run("--in", "card.id=7", ...words)).stdout.trimEnd().split("\n").at(-2);
  test("have versions, tags and planner options, and the request's come first", async () => {
    expect(await value("--query-name", "card", "--query-name-version", "1")).toMatch(/^card\.risk +- +usual\/7$/);
    expect(await value("--query-name", "card", "--query-name-version", "1")).toMatch(/^card\.risk +✓ +usual\/7$/);
    expect(await value("--query-name", "card", "--query-name-version", "2")).toMatch(/^card\.risk +- +live\/7$/);
    expect(await value("--query-name", "card")).toMatch(/^card\.risk +- +live\/7$/);
    const served = ["--query-name", "card", "--query-name-version", "2", "--planner-option", "disable_cache_reads=false"];
    expect(await value(...served)).toMatch(/^card\.risk +✓ +live\/7$/);
  });
  test("that there are not are told, with those that there are", async () => {
    const said = async (...words: string[]) => (await run("--in", "card.id=7", ...words)).stderr;
    expect(await said("--query-name", "crad")).toContain("no named query 'crad'; did you mean 'card'?");
    expect(await said("--query-name", "card", "--query-name-version", "3")).toContain("its versions are 1, 2");
    const label = "There is no named query 'crad': the name is kept in the log, and does nothing else.\n";
    expect(await said("--query-name", "crad", "--out", "card.risk")).toBe(label);
    expect(await said("--query-name", "card", "--out", "card.risk")).toBe("");
  });
});

test("the context of a query cannot be changed by a resolver, at any depth", async () => {
  const done = await run("--in", "card.id=1", "--out", "card.owner", "--query-context", 'deep={"list": [0, {"who": "ann"}]}');
  expect(done.stdout).toMatch(/card\.owner +- +ann refused refused refused/);
});

test("integers of the context are exact", async () => {
  const context = ["--query-context", 'deep={"list": [0, {"who": "ann"}]}', "--query-context", "n=9007199254740993"];
  const done = await run("--in", "card.id=1", "--out", "card.counted", ...context);
  expect(done.stdout).toMatch(/card\.counted +- +9007199254740993 int/);
});

test("resolvers that nothing separates are named, with their tags and the cures", async () => {
  const done = await run("--in", "card.id=1", "--out", "card.torn", "--tag", "a", "--tag", "b");
  expect(done.exitCode).toBe(1);
  for (const said of [
    "2 resolvers can produce card.torn",
    "cards.torn_one (cards.py:",
    "tags 'a'",
    "cards.torn_two (cards.py:",
    "required_resolver_tags",
    "`environment`s",
  ])
    expect(done.stderr).toContain(said);
  const cured = await run(
    "--in",
    "card.id=1",
    "--out",
    "card.torn",
    "--tag",
    "a",
    "--tag",
    "b",
    "--planner-option",
    "required_resolver_tags=b",
  );
  expect(cured.stdout).toMatch(/card\.torn +- +2/);
});

test("the plan says which provider was chosen, and why the others were not", async () => {
  const done = await run("--in", "card.id=8", "--out", "card.risk", "--tag", "vendor:live", "--explain");
  expect(done.stdout).toMatch(/cards\.live_risk \(cards\.py:\d+\) +rows 1 -> 1 +[\d.]+ ms/);
  expect(done.stdout).toMatch(/not cards\.usual_risk \(cards\.py:\d+\): cards\.live_risk matches more tags/);
});
