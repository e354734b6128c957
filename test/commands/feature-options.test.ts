/** Options of features, from a project's text to what queries answer. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let project = "";
const run = (path: string, words: readonly string[]) => runCommand(path, words, { home: platform.home, env: platform.env, dir: project });

interface Answer {
  readonly data: { field: string; value: unknown; error?: { code: string; message: string } }[];
  readonly meta: { warnings?: string[] };
}
const ask = async (...words: string[]) => (await run("query", [...words, "--json"])).json() as Answer;

const FEATURES = `from dataclasses import dataclass

from svc.features import DataFrame, Validation, Windowed, _, feature, features, windowed


@features
class Person:
    id: int
    # Use name
    label: str = feature(deprecated=True, default="none")
    name: str = "nobody"
    calls: Windowed[int] = windowed("1d", "7d", default=0, deprecated=True)


@features
class Order:
    id: int
    shop_id: "Shop.id"
    # 0 to 100, and rarely below 10
    percent: int = feature(max=100, min=0, strict=True, validations=[Validation(min=10, strict=False)])
    half: float = feature(expression=_.percent / 2, min=5, strict=True)
    code: str = feature(min_length=2, max_length=4, validations=[Validation(contains="-", strict=True)], store_offline=True)
    parts: list[str] = feature(contains="core", strict=True)


def is_even(value):
    return value % 2 == 0


def is_known(point):
    if point.y is None:
        raise LookupError("no y")
    return point.x < 100


@dataclass
class Point:
    x: float
    y: float | None = None


@features
class Checked:
    id: int
    even: int = feature(validations=[Validation(check=is_even, strict=True)])
    small: int = feature(max=50, strict=True, validations=[Validation(check=lambda value: value < 5, strict=False)])
    point: Point | None = feature(validations=[Validation(check=is_known, strict=True)], default=None)
    hall_id: "Hall.id"


@features
class Hall:
    id: int
    seats: DataFrame[Checked]
    sum: int = _.seats[_.even].sum()


@features
class Trial:
    id: int
    code: str = feature(version=3, default_version=2, max_staleness="1h", versions={3: feature(max_staleness="0s", expression=(_.code @ 1) + "!")})
    user: "Holder"
    holder: "Holder.id"


@features
class Holder:
    id: int
    size: int = feature(version=2, default=1, versions={2: feature(default=2)})


@features(max_staleness="1h")
class Kept:
    id: int
    mode: int = feature(default=5, max_staleness="0s")
    evicted: str | None = feature(cache_nulls="evict_nulls")
    older: str | None = feature(cache_nulls=False)
    level: int = feature(default=0, cache_defaults="evict_defaults")
    rank: int = feature(default=0, cache_defaults=False)
    plain: int = feature(default=0)
    young: int | None = feature(offline_ttl="1d", default=None)
    any_age: int | None = None


@features
class Shop:
    id: int
    orders: DataFrame[Order]
    total: int = _.orders[_.percent].sum()
`;

const RESOLVERS = `from features import Checked, Hall, Kept, Order, Point, Shop, Trial
from svc import DataFrame, Features, online


@online
def order(id: Order.id) -> Features[Order.percent, Order.code, Order.parts]:
    return Order(percent=id, code=CODES.get(id, "a-b"), parts=["core"] if id < 500 else ["rim"])


@online
def checked(id: Checked.id) -> Features[Checked.even, Checked.small]:
    return Checked(even=id, small=id)


@online
def point(even: Checked.even) -> Checked.point:
    return Point(float(even), None if even == 8 else 1.0)


@online
def seats(id: Hall.id) -> Hall.seats[Checked.id, Checked.even]:
    return [Checked(id=n, even=n * id) for n in range(3)]


@online
def kept(mode: Kept.mode) -> Features[Kept.evicted, Kept.older, Kept.level, Kept.rank, Kept.plain]:
    text = f"n{mode}" if mode else None
    number = {0: None, 1: 0}.get(mode, mode)
    return Kept(evicted=text, older=text, level=number, rank=number, plain=number)


@online
def first(id: Trial.id) -> Trial.code @ 1:
    return f"a{id}"


@online
def second(id: Trial.id, old: Trial.code @ 1, size: Trial.user.size @ 2) -> Trial.code @ 2:
    return f"b{id}{old}{size}"


@online
def holder(id: Trial.id) -> Trial.holder:
    return id


CODES = {1: "-", 2: "😀-", 3: "abcde-", 4: "none"}


@online
def orders(id: Shop.id) -> Shop.orders[Order.id, Order.percent]:
    return [Order(id=n, percent=20 if n < id else 200) for n in range(5)]
`;

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject({ "features.py": FEATURES, "resolvers.py": RESOLVERS });
  const done = await run("apply", ["--force", "--await"]);
  if (done.exitCode !== 0) throw new Error(done.stderr + done.stdout);
}, 300_000);
afterAll(() => platform.server.stop());

describe("deprecated", () => {
  test("a query is told of each output that is deprecated, in JSON and on the terminal", async () => {
    const told = ["person.label is deprecated: Use name", "person.calls[1d] is deprecated"];
    const words = ["--in", "person.id=1", "--out", "person.label", "--out", "person.name", "--out", "person.calls[1d]"];
    expect((await ask(...words)).meta.warnings).toEqual(told);
    const { stderr } = await run("query", words);
    expect(stderr).toContain(told.map((one) => `Warning: ${one}\n`).join(""));
    const bulk = (await run("query", ["--bulk", "--in", "person.id=1", "--in", "person.id=2", "--out", "person.label", "--json"])).json();
    expect(bulk).toMatchObject({ meta: { warnings: told.slice(0, 1) } });
    expect((await ask("--in", "person.id=1", "--out", "person.name")).meta.warnings).toBeUndefined();
  });

  test("its page says so", async () => {
    expect((await run("features/show", ["person.label"])).stdout).toMatch(/^Deprecated: yes$/m);
  });
});

describe("validations", () => {
  const problem = async (output: string, ...inputs: string[]) => {
    const { data } = await ask(...inputs.flatMap((input) => ["--in", input]), "--out", output);
    const [{ value, error }] = data as [Answer["data"][number]];
    return error ? [error.code, error.message] : value;
  };

  test("a value that is computed fails by a strict rule, and the feature, the rule and the value are told", async () => {
    expect(await problem("order.percent", "order.id=100")).toBe(100);
    expect(await problem("order.percent", "order.id=101")).toEqual([
      "VALIDATION_FAILED",
      "order.percent: expected int with max=100, got int 101 from resolvers.order (resolvers.py:6)",
    ]);
    expect(await problem("order.percent", "order.id=-1")).toEqual([
      "VALIDATION_FAILED",
      expect.stringContaining("int with min=0, got int -1"),
    ]);
    expect(await problem("order.parts", "order.id=500")).toEqual([
      "VALIDATION_FAILED",
      expect.stringContaining('list[str] with contains="core", got list of 1'),
    ]);
    expect(await problem("order.code", "order.id=4")).toEqual([
      "VALIDATION_FAILED",
      expect.stringContaining('str with contains="-", got str "none"'),
    ]);
  });

  test("so does an expression's, and what needs it", async () => {
    expect(await problem("order.half", "order.percent=10")).toBe(5);
    expect(await problem("order.half", "order.percent=9")).toEqual([
      "VALIDATION_FAILED",
      "order.half: expected float with min=5, got float 4.5 from its expression",
    ]);
    expect(await problem("order.half", "order.id=101")).toEqual(["UPSTREAM_FAILED", expect.stringContaining("max=100")]);
  });

  test("rows of a relation are checked one by one", async () => {
    expect(await problem("shop.total", "shop.id=5")).toBe(100);
    expect(await problem("shop.total", "shop.id=4")).toEqual(["UPSTREAM_FAILED", expect.stringContaining("int with max=100, got int 200")]);
  });

  test("a value that is given is refused", async () => {
    const { exitCode, stderr } = await run("query", ["--in", "order.percent=101", "--out", "order.half"]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("order.percent: expected int with max=100, got int 101")]);
  });

  test("a rule that is not strict lets the value be, and counts it; characters are Python's", async () => {
    for (const id of [1, 2, 3, 10, 9]) await problem("order.code", `order.id=${id}`);
    expect(await problem("order.code", "order.id=2")).toBe("\u{1f600}-");
    const counted = (await run("metrics/export", [])).stdout
      .split("\n")
      .filter((line) => line.startsWith("svc_feature_validation_failures"));
    expect(counted.find((line) => line.includes('"order.code"'))).toMatch(/ 2$/);
  });

  test("uploads and offline queries are checked by a strict rule", async () => {
    const file = join(project, "orders.csv");
    writeFileSync(file, "order.id,order.percent\n1,50\n2,101\n");
    const upload = await run("upload", [file]);
    expect([upload.exitCode, upload.stderr]).toEqual([
      1,
      expect.stringContaining("row 2, column order.percent: expected int with max=100, got int 101"),
    ]);
    const offline = await run("offline-query", ["--in", "order.id=50,101", "--out", "order.percent", "--recompute", "--wait"]);
    expect(offline.stdout).toContain("Failed rows:    1\n");
    expect(offline.stdout).toContain("Error:          order.percent: expected int with max=100, got int 101 from");
  });

  test("the page of a feature has its rules", async () => {
    expect((await run("features/show", ["order.percent"])).stdout).toContain("Validations: min=0, max=100 (strict); min=10\n");
  });
});

describe("a check that is a function of the project", () => {
  const one = async (output: string, ...inputs: string[]) => {
    const [{ value, error }] = (await ask(...inputs.flatMap((input) => ["--in", input]), "--out", output)).data as [Answer["data"][number]];
    return error ? [error.code, error.message] : value;
  };

  test("fails what Python resolvers compute, where it is strict", async () => {
    expect(await one("checked.even", "checked.id=4")).toBe(4);
    expect(await one("checked.even", "checked.id=5")).toEqual([
      "VALIDATION_FAILED",
      expect.stringContaining("checked.even: expected int with check=is_even, got int 5 from resolvers.checked"),
    ]);
    expect(await one("checked.point", "checked.id=4")).toEqual({ x: 4, y: 1 });
    expect(await one("checked.point", "checked.id=102")).toEqual([
      "VALIDATION_FAILED",
      expect.stringContaining("with check=is_known, got"),
    ]);
    expect(await one("checked.point", "checked.id=8")).toEqual([
      "VALIDATION_FAILED",
      expect.stringContaining("with check=is_known (LookupError: no y), got"),
    ]);
  });

  test("checks rows of a relation, and those of a bulk query, one by one", async () => {
    expect(await one("hall.sum", "hall.id=2")).toBe(6);
    expect(await one("hall.sum", "hall.id=3")).toEqual(["UPSTREAM_FAILED", expect.stringContaining("int with check=is_even, got int 3")]);
    const ids = Array.from({ length: 600 }, (_, id) => id);
    const bulk = (
      await run("query", ["--bulk", ...ids.flatMap((id) => ["--in", `checked.id=${id}`]), "--out", "checked.even", "--json"])
    ).json();
    const text = JSON.stringify(bulk);
    expect([text.includes("got int 599"), text.includes("got int 598")]).toEqual([true, false]);
  });

  test("only counts what it is not strict about", async () => {
    expect([await one("checked.small", "checked.id=44"), await one("checked.small", "checked.id=2")]).toEqual([44, 2]);
    expect(await one("checked.small", "checked.id=51")).toEqual(["VALIDATION_FAILED", expect.stringContaining("max=50")]);
    const { stdout } = await run("metrics/export", []);
    const counted = stdout
      .split("\n")
      .find((line) => line.startsWith("svc_feature_validation_failures") && line.includes('"checked.small"'));
    expect(Number(counted?.split(" ").at(-1))).toBeGreaterThanOrEqual(1);
  });

  test("is not asked about what a query gives", async () => {
    expect(await one("checked.point", "checked.even=7")).toEqual({ x: 7, y: 1 });
  });

  test("is asked about what is uploaded, and by offline queries", async () => {
    const file = join(project, "checked.csv");
    writeFileSync(file, "checked.id,checked.even\n1,50\n2,51\n3,52\n");
    const upload = await run("upload", [file]);
    expect([upload.exitCode, upload.stderr]).toEqual([
      1,
      expect.stringContaining("row 2, column checked.even: expected int with check=is_even, got int 51"),
    ]);
    writeFileSync(file, "checked.id,checked.even\n1,50\n3,52\n");
    expect((await run("upload", [file])).exitCode).toBe(0);
    const offline = await run("offline-query", ["--in", "checked.id=50,51", "--out", "checked.even", "--recompute", "--wait"]);
    expect(offline.stdout).toContain("Failed rows:    1\n");
  });

  test("is on the feature's page", async () => {
    expect((await run("features/show", ["checked.even"])).stdout).toContain("Validations: check=is_even (strict)\n");
    expect((await run("features/show", ["checked.small"])).stdout).toContain("Validations: max=50 (strict); check=<lambda>\n");
  });
});

describe("what is kept online and offline", () => {
  const NAMES = ["evicted", "older", "level", "rank", "plain"];
  const values = async (id: number, mode?: number) => {
    const given = mode === undefined ? [] : ["--in", `kept.mode=${mode}`, ...NAMES.flatMap((name) => ["--staleness", `kept.${name}=0s`])];
    const { data } = await ask("--in", `kept.id=${id}`, ...given, ...NAMES.flatMap((name) => ["--out", `kept.${name}`]));
    return data.map(({ value }) => value);
  };

  test("a null, or a default in its place, is stored, leaves the older value, or takes it out", async () => {
    expect(await values(1, 2)).toEqual(["n2", "n2", 2, 2, 2]);
    expect(await values(1)).toEqual(["n2", "n2", 2, 2, 2]);
    expect(await values(1, 0)).toEqual([null, null, 0, 0, 0]);
    expect(await values(1)).toEqual(["n5", "n2", 5, 2, 0]);
    expect(await values(1)).toEqual(["n5", "n2", 5, 2, 0]);
  });

  test("so is a value that equals the default", async () => {
    expect(await values(2, 3)).toEqual(["n3", "n3", 3, 3, 3]);
    expect(await values(2, 1)).toEqual(["n1", "n1", 0, 0, 0]);
    expect(await values(2)).toEqual(["n1", "n1", 5, 3, 0]);
  });

  test("uploads keep to it too", async () => {
    const upload = async (line: string) => {
      writeFileSync(join(project, "kept.csv"), `kept.id,kept.evicted,kept.level,kept.rank\n${line}\n`);
      expect((await run("upload", [join(project, "kept.csv")])).exitCode).toBe(0);
    };
    await upload("3,up,7,7");
    expect((await values(3)).filter((_, at) => [0, 2, 3].includes(at))).toEqual(["up", 7, 7]);
    await upload("3,,0,0");
    expect((await values(3)).filter((_, at) => [0, 2, 3].includes(at))).toEqual(["n5", 5, 7]);
  });

  test("its page says so", async () => {
    const shown = async (feature: string) => (await run("features/show", [feature])).stdout;
    expect(await shown("kept.evicted")).toMatch(/^Cache policy: +cache_nulls="evict_nulls"$/m);
    expect(await shown("kept.rank")).toMatch(/^Cache policy: +cache_defaults=False$/m);
    expect(await shown("kept.young")).toMatch(/^Offline TTL: +1d$/m);
    expect(await shown("kept.plain")).not.toMatch(/^(Cache policy|Offline TTL)/m);
  });

  test("a value in the history counts at a row's time until it is too old", async () => {
    writeFileSync(join(project, "aged.csv"), "kept.id,kept.young,kept.any_age,__ts__\n4,1,1,2026-01-01T00:00:00Z\n");
    expect((await run("upload", [join(project, "aged.csv")])).exitCode).toBe(0);
    const file = join(project, "aged-out.csv");
    const times = "2026-01-01T23:00:00Z,2026-01-02T00:00:00Z,2026-01-02T00:00:01Z";
    const asked = ["--in", "kept.id=4", "--time", times, "--out", "kept.young", "--out", "kept.any_age", "--wait", "--output-file", file];
    expect((await run("offline-query", asked)).stderr).not.toContain("Error");
    const rows = (await Bun.file(file).text()).trim().split("\n");
    expect(rows.slice(1).map((row) => row.split(",").slice(1, 3).join())).toEqual(["1,1", "1,1", ",1"]);
  });
});

describe("versions", () => {
  const values = async (...words: string[]) =>
    (await ask(...words)).data.map(({ field, value, error }) => [field, error?.message ?? value]);

  test("each is a feature, and the bare name is the default's", async () => {
    const asked = ["code@1", "code", "code@3", "user.size", "user.size@2"].flatMap((name) => ["--out", `trial.${name}`]);
    expect(await values("--in", "trial.id=7", ...asked)).toEqual([
      ["trial.code@1", "a7"],
      ["trial.code", "b7a72"],
      ["trial.code@3", "a7!"],
      ["trial.user.size", 1],
      ["trial.user.size@2", 2],
    ]);
    expect(await values("--in", "trial.id=7", "--out", "trial.code@2")).toEqual([["trial.code", "b7a72"]]);
    expect(await values("--in", "trial.id=7", "--in", "trial.code@1=x", "--out", "trial.code@3")).toEqual([["trial.code@3", "x!"]]);
    const whole = await values("--in", "trial.id=7", "--out", "trial");
    expect(whole.map(([field]) => field)).toEqual(["trial.id", "trial.code", "trial.holder"]);
    const wrong = await run("query", ["--in", "trial.id=7", "--out", "trial.code@4"]);
    expect(wrong.stderr).toContain("unknown feature 'trial.code@4'");
  });

  test("each keeps its values, online and offline, when another becomes the default", async () => {
    const words = ["--in", "trial.id=8", "--out", "trial.code@1", "--out", "trial.code@2"];
    const [first, second] = ["a8", "b8a82"];
    expect((await values(...words)).map(([, value]) => value)).toEqual([first, second]);
    const sampled = async (feature: string) => {
      const file = join(project, "sampled.csv");
      await run("offline-query", ["--in", "trial.id=8", "--out", feature, "--wait", "--output-file", file]);
      return (await Bun.file(file).text()).trim().split("\n").at(-1);
    };
    writeFileSync(join(project, "features.py"), FEATURES.replace("default_version=2", "default_version=1"));
    writeFileSync(join(project, "resolvers.py"), RESOLVERS.replace('f"a{id}"', '"new"').replace('f"b{id}', 'f"new'));
    const applied = await run("apply", ["--force", "--await"]);
    expect([applied.stderr, applied.exitCode]).toEqual([applied.stderr, 0]);
    expect(await values(...words)).toEqual([
      ["trial.code", first],
      ["trial.code@2", second],
    ]);
    expect(await sampled("trial.code")).toContain(first);
    expect(await sampled("trial.code@2")).toContain(second);
    const deleted = await run("delete", ["--features", "trial.code@1", "--keys", "8", "--force"]);
    expect(deleted.exitCode).toBe(0);
    expect((await values(...words)).map(([, value]) => value)).toEqual(["new", second]);
    expect((await run("features/show", ["trial.code@1"])).stdout).toContain("Feature version: 1, the default");
  });
});
