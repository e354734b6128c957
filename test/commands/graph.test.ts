/** Single features and resolvers, the graph and its lineage, of a real project on a real server. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { GraphSchema } from "../../gen/svc/v1/graph_pb.ts";
import { tempFolder } from "../client/test-context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

const FEATURES = `from svc import DataFrame, Windowed, _, windowed
from svc.features import feature, features, has_many


@features
class Txn:
    id: int
    user_id: int = 0
    amount: float = 0.0


@features(owner="a@example.com", tags=["core"])
class User:
    id: int
    # What people call the user,
    # in full.
    name: str = feature(
        max_staleness="1h",
        default="nobody",  # a bracket ) in a comment
    )
    name_length: int
    txns: DataFrame[Txn] = has_many(lambda: Txn.user_id == User.id)
    total: float = _.txns[_.amount].sum()
    score: float
`;

const RESOLVERS = `from features import User
from svc import offline, online


@online(
    tags=["fast"],
)
def get_name(id: User.id) -> User.name:
    # The name is made up.
    text = (
        "user"
    )

    return f"{text}-{id}"


@online
def length(name: User.name) -> User.name_length:
    return len(name)


@online
def score(length: User.name_length, total: User.total) -> User.score:
    for _ in range(3):
        length += 1
    return length + total


@offline
def slow_name(id: User.id) -> User.name:
    return str(id)
`;

const QUERIES = `from features import User
from svc import NamedQuery

NamedQuery(name="risk", version="1.0.1", input=[User.id], output=[User.score])
`;

let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform();
  const files = { "features.py": FEATURES, "resolvers.py": RESOLVERS, "queries.py": QUERIES };
  const applied = await runCommand("apply", ["--force", "--await"], { ...platform, dir: writeProject(files) });
  if (applied.exitCode !== 0) throw new Error(applied.stdout + applied.stderr);
}, 300_000);
afterAll(() => platform.server.stop());

const svc = (path: string, ...words: string[]) => runCommand(path, words, platform);

/** The lines under a heading, without their indent. */
function under(text: string, heading: string): string[] {
  const lines = text.split("\n");
  const at = lines.indexOf(heading) + 1;
  const end = lines.indexOf("", at);
  return at === 0 ? [] : lines.slice(at, end < 0 ? undefined : end).map((line) => line.slice(2));
}

describe("features show", () => {
  test("says where it is and how it is defined", async () => {
    const { stdout } = await svc("features/show", "user.name");
    expect(stdout).toStartWith("user.name\nWhat people call the user,\nin full.\n");
    expect(stdout).toMatch(
      /Type: +str\nDefault: +"nobody"\nDefined in: +features.py:17\nOwner: +a@example.com\nTags: +core\nMax staleness: +1h/,
    );
    const definition = under(stdout, "Definition").map((line) => /^(\d+) {2}(.*)$/.exec(line)?.slice(1));
    const lines = FEATURES.split("\n");
    expect(definition).toEqual([15, 16, 17, 18, 19, 20].map((number) => [String(number), lines[number - 1] ?? ""]));
  });

  test("has what gives it in the order of queries, and what nothing takes at the end", async () => {
    const providers = async (fqn: string) => under((await svc("features/show", fqn)).stdout, "Providers");
    expect(await providers("user.name")).toEqual([
      "1. the online store: while the stored value is at most 1h old",
      "2. resolver resolvers.get_name: for queries with the tag fast; the only resolver",
      "3. its default: when nothing else gives a value",
      "-. resolver resolvers.slow_name: it is offline only",
    ]);
    expect(await providers("user.total")).toEqual(["1. its expression: an expression comes before all resolvers"]);
    expect(await providers("user.id")).toEqual(["None: queries give it as an input, or its values are uploaded."]);
    // What is said to come first is what a query takes.
    const asked = ["--in", "user.id=1", "--out", "user.name", "--json"];
    expect((await svc("query", ...asked, "--tag", "fast")).stdout).toContain('"user-1"');
    expect((await svc("query", "--in", "user.id=2", "--out", "user.name", "--json")).stdout).toContain('"nobody"');
  });

  test("has what uses it, and its statistics once it was asked for", async () => {
    expect(under((await svc("features/show", "user.score")).stdout, "Used by")).toEqual(["named query risk 1.0.1"]);
    expect(under((await svc("features/show", "txn.amount")).stdout, "Used by")).toEqual(["feature user.total"]);
    await svc("query", "--in", "user.id=3", "--in", "user.total=2.5", "--out", "user.score");
    const json = (await svc("features/show", "user.score", "--json")).json() as Record<string, unknown>;
    expect(json).toMatchObject({ used_by_left_off: 0, versions: [{ internal_version: 1, type: "float", ended: false }] });
  });

  test("names what is near to a wrong name", async () => {
    const { exitCode, stderr } = await svc("features/show", "user.nam");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("did you mean 'user.name'")]);
  });
});

describe("resolvers show", () => {
  test("has its function with decorators, and why it needs Python", async () => {
    const { stdout } = await svc("resolvers/show", "get_name");
    expect(stdout).toMatch(/Kind: +online, Python\nInputs: +user.id\nOutputs: +user.name\nTags: +fast\nWithout Python: +yes/);
    const source = under(stdout.replace("\n  13\n", "\n  13  \n"), "Source");
    expect(source.map((line) => line.slice(4))).toEqual(RESOLVERS.split("\n").slice(4, 14));
    expect((await svc("resolvers/show", "resolvers.score")).stdout).toContain("no: line 24: it loops");
    expect((await svc("resolvers/show", "score", "--json")).json()).toMatchObject({
      resolver: { untranslated: "line 24: it loops" },
      runs: [],
    });
  });

  test("the list is as it was", async () => {
    expect((await svc("resolvers")).stdout).toBe((await svc("resolvers/list")).stdout);
  });
});

describe("graph", () => {
  test("is the message of the API, as JSON and encoded", async () => {
    const folder = tempFolder("svc-graph-");
    const printed = (await svc("graph")).json() as { feature_sets: { namespace: string }[]; resolvers: { fqn: string }[] };
    const [asJson, encoded] = [join(folder, "graph.json"), join(folder, "graph.bin")];
    expect((await svc("graph", "--out", asJson)).stdout.trim()).toBe(asJson);
    await svc("graph", "--format", "proto", "--out", encoded);
    expect(JSON.parse(readFileSync(asJson, "utf8"))).toEqual(printed);
    const graph = fromBinary(GraphSchema, readFileSync(encoded));
    expect(graph.resolvers.map(({ fqn }) => fqn)).toEqual(printed.resolvers.map(({ fqn }) => fqn));
    expect(graph.featureSets.map(({ namespace }) => namespace)).toEqual(printed.feature_sets.map(({ namespace }) => namespace));
    expect(graph.resolvers.map(({ fqn }) => fqn)).toContain("resolvers.score");
  });

  test("refuses what would have no effect", async () => {
    for (const words of [
      ["--depth", "2"],
      ["--format", "proto"],
      ["--lineage", "user.id", "--out", "x"],
    ])
      expect([words, (await svc("graph", ...words)).exitCode]).toEqual([words, 2]);
  });

  test("--lineage goes both ways, as far as asked", async () => {
    const { stdout } = await svc("graph", "--lineage", "user.name_length", "--depth", "2");
    expect(stdout.trimEnd().split("\n")).toEqual([
      "feature user.name_length",
      "  comes from",
      "    resolver resolvers.length",
      "      feature user.name",
      "  goes to",
      "    resolver resolvers.score",
      "      feature user.score",
    ]);
    const all = (await svc("graph", "--lineage", "risk", "--depth", "0", "--json")).json() as { nodes: { id: string }[]; chosen: string[] };
    expect(all.chosen).toEqual(["query:risk 1.0.1"]);
    expect(all.nodes.map(({ id }) => id)).toContain("feature:txn.amount");
    expect((await svc("graph", "--lineage", "user.scor")).stderr).toContain("did you mean 'user.score'");
  });
});
