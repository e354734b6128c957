/** GraphService of single definitions and of lineage: its bounds, and who sees values. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Code } from "@connectrpc/connect";
import { GraphService, LineageDirection } from "../../../../gen/svc/v1/graph_pb.ts";
import { ExponentialHistogram } from "../../../../src/domain/metrics/exponential-histogram.ts";
import { FrequentValues, NumberSketch } from "../../../../src/domain/metrics/value-sketch.ts";
import { statisticsMessage } from "../../../../src/server/wire/services/graph-details.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, GREETING } from "../../deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;
let first: string;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  first = (await deploy(server, { ...GREETING, "resolvers.py": (GREETING["resolvers.py"] ?? "").replace('"hello "', '"good morning "') }))
    .id;
  await deploy(server, GREETING);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const graph = () => server.client(GraphService);

describe("single definitions", () => {
  test("of a deployment that is not live have its own source", async () => {
    const live = await graph().getResolver({ resolver: "greet" });
    const before = await graph().getResolver({ resolver: "greet", deploymentId: first });
    expect([live.source?.text, before.source?.text]).toEqual([
      expect.stringContaining('"hello "'),
      expect.stringContaining('"good morning "'),
    ]);
    expect([live.version, before.version, before.deploymentId]).toEqual([2, 1, first]);
    const feature = await graph().getFeature({ fqn: "user.greeting", deploymentId: first });
    expect([feature.deploymentId, feature.source]).toMatchObject([first, { file: "features.py", line: 7, text: "    greeting: str" }]);
  });

  test("that do not exist are not found", async () => {
    for (const fqn of ["user.nothing", "nothing", "user", "x".repeat(10_000)])
      await expect(graph().getFeature({ fqn })).rejects.toMatchObject({ code: Code.NotFound });
    await expect(graph().getFeature({})).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(graph().getResolver({ resolver: "nothing" })).rejects.toMatchObject({ code: Code.NotFound });
    await expect(graph().getFeature({ fqn: "user.id", deploymentId: "dpl_0" })).rejects.toMatchObject({ code: Code.NotFound });
  });
});

describe("lineage", () => {
  test("is all of the graph, or what is around a choice", async () => {
    const all = await graph().getLineage({});
    expect(all.nodes.map(({ id }) => id)).toEqual([
      ...["resolver:resolvers.get_name", "resolver:resolvers.greet"],
      ...["feature:user.greeting", "feature:user.id", "feature:user.name"],
    ]);
    expect(all.edges.map(({ from, to }) => `${from} > ${to}`).sort()).toEqual([
      "feature:user.id > resolver:resolvers.get_name",
      "feature:user.name > resolver:resolvers.greet",
      "resolver:resolvers.get_name > feature:user.name",
      "resolver:resolvers.greet > feature:user.greeting",
    ]);
    const up = await graph().getLineage({ on: "user.name", direction: LineageDirection.UPSTREAM });
    expect([up.chosen, up.nodes.length, up.edges.length]).toEqual([["feature:user.name"], 3, 2]);
    const near = await graph().getLineage({ on: "user.name", depth: 1 });
    expect(near.nodes.map(({ name }) => name)).toEqual(["resolvers.get_name", "resolvers.greet", "user.name"]);
    const folded = await graph().getLineage({ on: "user.name", byClass: true });
    expect([folded.chosen, folded.nodes.map(({ id }) => id)]).toEqual([
      ["class:user"],
      ["class:user", "resolver:resolvers.get_name", "resolver:resolvers.greet"],
    ]);
  });

  test("is bounded, and says what it left off", async () => {
    const { edges, nodes, nodesLeftOff } = await graph().getLineage({ on: "user.name", limit: 2 });
    expect([nodes.length, nodesLeftOff]).toEqual([2, 3]);
    for (const { from, to } of edges) expect(nodes.map(({ id }) => id)).toEqual(expect.arrayContaining([from, to]));
    for (const request of [{ limit: 5_001 }, { limit: -1 }, { depth: -1 }])
      await expect(graph().getLineage(request)).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(graph().getLineage({ on: "user.nam" })).rejects.toMatchObject({ code: Code.NotFound });
  });
});

describe("statistics", () => {
  const ages = new ExponentialHistogram();
  for (const age of [1, 60, 3600]) ages.record(age);
  const numbers = new NumberSketch();
  for (let value = -50; value <= 50; value++) numbers.record(value);
  const words = new FrequentValues();
  for (const word of ["a", "b", "a"]) words.record(word);
  const hour = { count: 10, nulls: 2, errors: 1, ages: ages.encode() };

  test("of hours are one, with quantiles and bins that hold every number", () => {
    const sum = statisticsMessage(
      [
        { at: 3_600_000, ...hour, sketch: numbers.toJSON() },
        { at: 7_200_000, ...hour },
      ],
      true,
    );
    expect([sum?.startTime?.seconds, sum?.count, sum?.nulls, sum?.errors, sum?.sampled]).toEqual([3600n, 20n, 4n, 2n, 101n]);
    expect(sum?.medianAgeSeconds).toBeCloseTo(60, -1);
    const bins = sum?.bins ?? [];
    expect(bins.length).toBeLessThanOrEqual(60);
    expect(bins.reduce((all, { count = 0n }) => all + count, 0n)).toBe(101n);
    const uppers = bins.map(({ upper = 0 }) => upper);
    expect(uppers).toEqual([...uppers].sort((one, other) => one - other));
    const values = (sum?.quantiles ?? []).map(({ value = 0 }) => value);
    expect(values).toEqual([...values].sort((one, other) => one - other));
    expect(values.at(-1)).toBeCloseTo(50, -1);
  });

  test("have the drift from the hours before, unless either side has too few values", () => {
    const around = (centre: number) => {
      const sketch = new NumberSketch();
      for (let value = 0; value < 200; value++) sketch.record(centre + (value % 20));
      return [{ at: 0, ...hour, sketch: sketch.toJSON() }];
    };
    const few = [{ at: 0, ...hour, sketch: words.toJSON() }];
    expect(statisticsMessage(around(100), false, around(100))?.drift).toBeCloseTo(0, 5);
    expect(statisticsMessage(around(100), false, around(500))?.drift).toBeGreaterThan(1);
    expect([statisticsMessage(around(100), true, few)?.drift, statisticsMessage(around(100), true)?.drift]).toEqual([undefined, undefined]);
  });

  test("of texts have the most frequent values first", () => {
    const { values } = statisticsMessage([{ at: 0, ...hour, sketch: words.toJSON() }], true) ?? {};
    expect(values?.map(({ count, value }) => [value, count])).toEqual([
      ["a", 2n],
      ["b", 1n],
    ]);
  });

  test("show values to nobody who may not read stored ones, and are absent where nothing is known", () => {
    const hidden = statisticsMessage([{ at: 0, ...hour, sketch: words.toJSON() }], false) ?? {};
    expect(Object.keys(hidden).sort()).toEqual(["count", "errors", "medianAgeSeconds", "nulls", "startTime"]);
    expect(statisticsMessage([], true)).toBeUndefined();
  });
});
