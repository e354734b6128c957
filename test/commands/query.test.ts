import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { ErrorDetailSchema } from "../../gen/svc/v1/error_pb.ts";
import { failureText } from "../../src/commands/query/answer-view.ts";
import { testContext } from "../client/test-context.ts";
import { ask as askPlatform, type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let project = "";
const run = (words: readonly string[], options: Parameters<typeof runCommand>[2] = {}) =>
  runCommand("query", words, { home: platform.home, env: platform.env, dir: project, ...options });

interface Answer {
  readonly data: { field: string; value: unknown; pkey?: unknown; ts: string; error?: { code: string }; meta?: { cache_hit: boolean } }[];
  readonly errors?: { code: string; feature: string; exception?: { kind: string; file: string; line: number } }[];
  readonly meta: Record<string, unknown>;
}
const ask = async (words: readonly string[]) => (await run([...words, "--json"])).json() as Answer;
const values = ({ data }: Answer) => Object.fromEntries(data.map(({ field, value }) => [field, value]));

const MORE = `

@features(max_staleness="1h")
class Note:
    id: str
    text: str
    length: int = feature(max_staleness="0s")
    origin: str | None
    when: datetime
`;
const MORE_RESOLVERS = `

@online
def note_length(text: Note.text) -> Note.length:
    return len(text)


@online
def note_when(id: Note.id, now: Now) -> Note.when:
    print("asked for", id, "\\x1b[31m")
    return now
`;

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject();
  const features = await Bun.file(join(project, "features.py")).text();
  writeFileSync(join(project, "features.py"), `from datetime import datetime\n\n${features}${MORE}`);
  const resolvers = await Bun.file(join(project, "resolvers.py")).text();
  const imports = resolvers.replace("import User", "import Note, User").replace("import online", "import Now, online");
  writeFileSync(join(project, "resolvers.py"), imports + MORE_RESOLVERS);
  const done = await runCommand("apply", ["--force", "--await"], { home: platform.home, env: platform.env, dir: project });
  if (done.exitCode !== 0) throw new Error(done.stderr);
}, 300_000);
afterAll(() => platform.server.stop());

describe("text", () => {
  test("-v shows what resolvers print, below the answer and with its control characters visible", async () => {
    const words = ["--in", "note.id=v1", "--out", "note.when"];
    const shown = "note_when stdout: asked for v1 \\x1b[31m\n";
    const loud = await run([...words, "-v"]);
    expect([loud.exitCode, loud.stderr]).toEqual([0, expect.stringContaining(shown)]);
    expect((await run(words)).stderr).not.toContain("asked for");
    expect((await run([...words, "-v", "--json"])).stderr).not.toContain("asked for");
  });

  test("a link, a table, and a mark for what was stored", async () => {
    const first = await run(["--in", "user.id=7", "--out", "user.name,user.name_length"]);
    expect(first.exitCode).toBe(0);
    const table = first.stdout.trimEnd().split("\n");
    const link = table.pop();
    expect(link).toMatch(new RegExp(`^${platform.url}/environments/${platform.environmentId}/query-runs/\\S+$`));
    expect(table).toEqual(["Name              Hit?  Value", "user.name         -     user-7", "user.name_length  -     6"]);
    const { queries } = (await askPlatform(platform, "QueryRunService/ListQueryRuns", {})) as { queries: { id: string }[] };
    expect(queries[0]?.id).toBe(link?.split("/").at(-1) ?? "?");
    const second = await run(["--in", "user.id=7", "--out", "user.name"]);
    expect(second.stdout.trimEnd().split("\n").slice(0, -1)).toEqual(["Name       Hit?  Value", "user.name  ✓     user-7"]);
    const busted = await run(["--in", "user.id=7", "--out", "user.name", "--staleness", "user.name=0s"]);
    expect(busted.stdout).not.toContain("✓");
  });
  test("outputs that are inferred are told on stderr", async () => {
    const done = await run(["--in", "user.id=1"]);
    expect(done.stderr).toBe("Using '--out=user'\n");
    expect(done.stdout).toMatch(/user\.score +- +0\.5/);
  });
  test("a failing feature: the others are answered, the cause stands below, exit 1", async () => {
    const done = await run(["--in", "user.id=13", "--out", "user.fragile,user.score"]);
    expect(done.exitCode).toBe(1);
    expect(done.stdout).toMatch(/user\.score +- +6\.5/);
    expect(done.stdout).toMatch(/user\.fragile +- +\(failed\)/);
    expect(done.stderr).not.toContain("Traceback");
    const told = await run(["--in", "user.id=13", "--out", "user.fragile", "-v"]);
    expect(told.stderr).toMatch(/\n {2}Traceback \(most recent call last\):\n {4}File ".*resolvers\.py", line \d+, in fragile\n/);
    const source = await Bun.file(join(project, "resolvers.py")).text();
    const line = source.split("\n").findIndex((text) => text.includes("raise ValueError")) + 1;
    expect(done.stderr).toMatch(/user\.fragile: .*resolvers\.fragile.*ValueError: unlucky number/);
    expect(done.stderr).toContain(`resolvers.py:${line}`);
    expect(done.stderr).toContain("1 of 2 features could not be answered");
  });
  test("--explain prints the plan below", async () => {
    const done = await run(["--in", "user.id=2", "--out", "user.score", "--explain"]);
    expect(done.stdout).toContain("user.score = 1");
    expect(done.stdout).toContain("resolvers.score");
  });
  test("a failure told in several lines keeps them, and nothing in it steers the terminal", () => {
    const error = create(ErrorDetailSchema, {
      message: "no resolver can produce user.name:\n  - a: it needs\u001b[2J user.x",
      resolver: "m.f",
    });
    expect(failureText(error, { stacks: false })).toBe(
      "no resolver can produce user.name:\n    - a: it needs\\x1b[2J user.x [resolver m.f]",
    );
  });
  test("control characters from the data are shown, not sent to the terminal", async () => {
    const done = await run(["--in", "note.id=x", "--in", 'note.text="a\\u001b[31mred\\u0007"', "--out", "note.text"], { terminal: true });
    expect(done.stdout).toContain("\\x1b[31mred\\x07");
    expect(done.stdout).not.toContain("\u0007");
    const explained = await run(["--in", "note.id=x", "--in", 'note.text="a\\u001b[31mred"', "--out", "note.text", "--explain"], {
      terminal: true,
    });
    expect(explained.stdout).toContain("note.text");
    expect(explained.stdout).not.toContain("\u001b[31m");
  });
});

describe("JSON", () => {
  test("is what the JSON query API answers", async () => {
    const words = ["--in", "user.id=13", "--out", "user.fragile,user.score,user.name", "--include-meta"];
    const done = await run([...words, "--json"]);
    expect([done.exitCode, done.stderr]).toEqual([1, ""]);
    const { context } = await testContext({ home: platform.home, env: platform.env });
    const { accessToken } = await context.http.session();
    const response = await fetch(`${platform.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ inputs: { "user.id": 13 }, outputs: ["user.fragile", "user.score", "user.name"], include_meta: true }),
    });
    const steady = (answer: Answer) => ({
      ...answer,
      data: answer.data.map((result) => ({ ...result, ts: typeof result.ts, meta: { ...result.meta, cache_hit: undefined } })),
      meta: { ...answer.meta, execution_duration_s: undefined, query_id: undefined, query_timestamp: undefined },
    });
    const [ours, theirs] = [steady(done.json() as Answer), steady((await response.json()) as Answer)];
    expect(ours).toEqual(theirs);
  });
  test("metadata per feature only when asked for", async () => {
    expect((await ask(["--in", "user.id=1", "--out", "user.name"])).data[0]?.meta).toBeUndefined();
    expect((await ask(["--in", "user.id=1", "--out", "user.name", "--include-meta"])).data[0]?.meta?.cache_hit).toBeBoolean();
  });
});

describe("inputs", () => {
  test("names: in full, relative, with a leading dot", async () => {
    for (const name of ["user.name", "name", ".user.name"]) {
      expect(values(await ask(["--in", ".user.id=3", "--out", name]))).toEqual({ "user.name": "user-3" });
    }
  });
  test("JSON, bare text, and raw text", async () => {
    const length = async (...words: string[]) => values(await ask(["--in", "note.id=a", ...words, "--out", "note.length"]))["note.length"];
    expect(await length("--in", "note.text=hello")).toBe(5);
    expect(await length("--in", 'note.text="hello"')).toBe(5);
    expect(await length("--raw-inputs", "--in", 'note.text="hello"')).toBe(7);
    expect(await length("--in", "note.text=a=b=c")).toBe(5);
    expect(await length("--in", "note.text=")).toBe(0);
  });
  test("@file(path), relative to the working directory", async () => {
    writeFileSync(join(project, "note with space.txt"), "five!\n");
    expect(values(await ask(["--in", "note.id=a", "--in", "note.text=@file(note with space.txt)", "--out", "note.length"]))).toEqual({
      "note.length": 5,
    });
    const missing = await run(["--in", "note.text=@file(nothing.txt)"]);
    expect([missing.exitCode, missing.stderr.includes("nothing.txt does not exist")]).toEqual([1, true]);
    writeFileSync(join(project, "binary.bin"), new Uint8Array([255, 254, 0]));
    expect((await run(["--in", "note.text=@file(binary.bin)"])).stderr).toContain("not UTF-8");
  });
  test("--now answers as of an instant", async () => {
    const asked = ["--in", "note.id=b", "--out", "note.when", "--staleness", "note.when=0s"];
    expect(values(await ask([...asked, "--now", "2024-05-01T14:00:00+02:00"]))).toEqual({ "note.when": "2024-05-01T12:00:00.000000Z" });
    expect(values(await ask([...asked, "--now", "2024-05-01T12:00:00.123456Z"]))).toEqual({ "note.when": "2024-05-01T12:00:00.123456Z" });
    expect((await run([...asked, "--now", "2024-05-01T14:00:00"])).exitCode).toBe(2);
  });
});

describe("wrong input", () => {
  const cases: [words: string[], exitCode: number, said: RegExp][] = [
    [["--out", "user"], 2, /--in <feature>=<value>/],
    [["--in", "user.id"], 2, /--in/],
    [["--in", "user.id=1", "--in", "user.id=2"], 2, /more than one value/],
    [["--in", "user.id=1", "--staleness", "user.name=10"], 2, /a duration such as/],
    [["--in", "user.id=1", "--query-name-version", "1"], 2, /--query-name/],
    [["--in", "user.id=1", "--repeat", "0"], 2, /above zero/],
    [["--in", "user.id=1", "--planner-option", "a=1", "--planner-option", "a=2"], 2, /--planner-option a is given twice/],
    [["--in", "user.id=1", "--query-context", "a=[1, 12345678901234567890]"], 2, /--query-context a=.*beyond 64 bits/],
    [["--in", "user.id=1", "--qps", "5"], 2, /--benchmark/],
    [["--in", "user.idd=1"], 1, /did you mean 'user\.id'/],
    [["--in", "user.id=1", "--out", "user.nmae"], 1, /did you mean 'user\.name'/],
    [["--in", "user.id=abc"], 1, /user\.id: expected int, got str "abc"/],
    [["--in", "user.id=1", "--out", "note.text"], 1, /note/],
    [["--in", "user.id=1", "--deployment", "dpl_nothing"], 1, /dpl_nothing/],
    [["--in", "user.id=1", "--branch=nothing"], 1, /nothing/],
    [["--in", "user.id=1", "--query-name", "nothing"], 1, /nothing/],
  ];
  for (const [words, exitCode, said] of cases) {
    test(words.join(" "), async () => {
      const done = await run(words);
      expect(done.stderr).toMatch(said);
      expect([done.exitCode, done.stdout]).toEqual([exitCode, ""]);
      if (exitCode === 1) expect(JSON.parse((await run([...words, "--json"])).stderr)).toHaveProperty("error.code");
    });
  }
});

test("--repeat asks again until interrupted, one JSON object a line", async () => {
  const abort = new AbortController();
  const slept: number[] = [];
  const clock = {
    now: () => 1_000,
    sleep: async (ms: number) => {
      slept.push(ms);
      if (slept.length === 3) {
        abort.abort(new Error("interrupted"));
        throw new Error("interrupted");
      }
    },
  };
  const done = await run(["--in", "user.id=1", "--out", "user.score", "--repeat", "5s", "--json"], { clock, signal: abort.signal });
  const lines = done.stdout.trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as Answer).data[0]?.value)).toEqual([0.5, 0.5, 0.5]);
  expect(slept).toEqual([5000, 5000, 5000]);
});
