import { describe, expect, test } from "bun:test";
import { parseTraceparent } from "../../../../src/domain/traceparent.ts";
import { SpanRecorder } from "../../../../src/server/query/answer/spans.ts";
import type { Tracing } from "../../../../src/server/query/create-engine.ts";
import { bulkColumn } from "../../../../src/server/query/request/request.ts";
import type { SpanRecord } from "../../../../src/server/stores/telemetry/store.ts";
import { agg, featureClass, fn, graph, lit, python, sql } from "../graphs.ts";
import { ask, MemorySource, PlayedError, World } from "../worlds.ts";

const TABLES = `
  create table users (id integer primary key, name text);
  insert into users values (1, 'ann'), (2, 'bob'), (3, 'eve');
  create table txns (id integer primary key, user_id integer, amount real);
  insert into txns values (10, 1, 5), (11, 1, 50), (12, 2, 7);
`;

function world(): World {
  const made = graph(
    [
      featureClass("user", {
        id: "int",
        name: { type: "str", stale: "1h" },
        score: "int",
        bad: "int",
        double: { type: "float", expression: fn("mul", "score", lit(2)) },
        txns: { many: "txn", on: [["id", "user_id"]] },
        cents: { type: "float", expression: agg("sum", "txns", "cents") },
      }),
      featureClass("txn", { id: "int", user_id: "int", amount: "float", cents: "float" }),
    ],
    [
      sql("users", "select id, name from users", { "user.id": "id", "user.name": "name" }),
      sql("txns", "select id, user_id, amount from txns order by id", { "txn.id": "id", "txn.user_id": "user_id", "txn.amount": "amount" }),
      python("m.score", ["user.id"], ["user.score"]),
      python("m.cents", ["txn.amount"], ["txn.cents"]),
      python("m.bad", ["user.id"], ["user.bad"]),
    ],
  );
  const python_ = {
    "m.score": ([id]: readonly unknown[]) => Number(id) * 10,
    "m.cents": ([amount]: readonly unknown[]) => Number(amount) * 100,
    "m.bad": () => {
      throw new PlayedError("no luck");
    },
  };
  return new World(made, { python: python_, sources: [new MemorySource("db", TABLES)] });
}

type Spans = Omit<SpanRecord, "environmentId">[];
const finish = (recorder: SpanRecorder): Spans => recorder.finish({ queryId: "q", deploymentId: "dpl_1" }, {});

async function trace(one: World, outputs: readonly string[], inputs: Record<string, unknown> = { "user.id": 1 }): Promise<Spans> {
  const spans = new SpanRecorder("door", one.now, undefined);
  await one.engine.answer(one.deployment, ask(inputs, outputs), one.now, undefined, { parent: undefined, spans });
  return finish(spans);
}

/** Spans as `kind name` below the name of what they are a part of. */
function shape(spans: Spans): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  return spans.map(({ kind, name, parentSpanId }) => {
    const parent = byId.get(parentSpanId);
    return `${parent ? `${parent.kind} ${parent.name} > ` : ""}${kind} ${name}`;
  });
}

const named = (spans: Spans, kind: string, name: string) => {
  const found = spans.find((span) => span.kind === kind && span.name === name);
  if (!found) throw new Error(`no span ${kind} ${name} among ${shape(spans).join(", ")}`);
  return found;
};

describe("the spans of a query", () => {
  test("are those of its plan, its store, its steps, and of what each of these calls", async () => {
    const one = world();
    const spans = await trace(one, ["user.name", "user.double", "user.cents"]);
    expect(shape(spans).sort()).toEqual(
      [
        "gateway door",
        "gateway door > plan plan",
        "gateway door > store read user",
        "gateway door > op users",
        "op users > sql db",
        "gateway door > op m.score",
        "op m.score > worker m.score",
        "gateway door > op user.double",
        "gateway door > op txns",
        "op txns > sql db",
        "op txns > op m.cents",
        "op m.cents > worker m.cents",
        "gateway door > op user.cents",
        "gateway door > store write",
      ].sort(),
    );
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(named(spans, "op", "txns").attributes).toMatchObject({
      "svc.step": "rows",
      "svc.rows.in": "1",
      "svc.rows.out": "2",
      "svc.path": "user",
    });
    expect(named(spans, "op", "m.cents").attributes).toMatchObject({
      "svc.step": "python",
      "svc.rows.in": "2",
      "svc.rows.out": "2",
      "svc.resolver": "m.cents",
    });
    expect(named(spans, "store", "read user").attributes).toMatchObject({ "svc.values": "1", "svc.cache.hit": "0" });
    expect(named(spans, "sql", "db").attributes["db.query.text"]).toContain("from users");
    expect(named(spans, "plan", "plan").attributes["svc.plan.remembered"]).toBe("false");
    const again = await trace(one, ["user.name", "user.double", "user.cents"]);
    expect(named(again, "plan", "plan").attributes["svc.plan.remembered"]).toBe("true");
    expect(named(again, "store", "read user").attributes["svc.cache.hit"]).toBe("1");
    expect(shape(again)).not.toContain("gateway door > op users");
  });

  test("lie within the span that they are a part of", async () => {
    const spans = await trace(world(), ["user.name", "user.double", "user.cents"]);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    for (const span of spans) {
      expect(span.durationMs).toBeGreaterThanOrEqual(0);
      const parent = byId.get(span.parentSpanId);
      if (!parent) continue;
      expect(span.startedAt).toBeGreaterThanOrEqual(parent.startedAt);
      expect(span.startedAt + span.durationMs).toBeLessThanOrEqual(parent.startedAt + parent.durationMs + 0.001);
    }
  });

  test("say what went wrong", async () => {
    const spans = await trace(world(), ["user.bad", "user.score"]);
    expect(named(spans, "op", "m.bad")).toMatchObject({
      error: "no luck",
      attributes: { "svc.rows.in": "1", "svc.rows.out": "0", "svc.rows.failed": "1", "error.type": "RESOLVER_FAILED" },
    });
    expect(named(spans, "worker", "m.bad").error).toBe("no luck");
    expect(named(spans, "op", "m.score").error).toBe("");
  });

  test("of a bulk query count all its rows, call by call", async () => {
    const one = world();
    const spans = new SpanRecorder("door", one.now, undefined);
    const bulk = {
      request: ask({}, ["user.score"], { plannerOptions: { max_batch_rows: "2" } }),
      columns: [bulkColumn("user.id", [1, 2, 3])],
    };
    const answer = await one.engine.answerBulk(one.deployment, bulk, one.now, undefined, { parent: undefined, spans });
    const found = finish(spans);
    expect(answer.traceId).toBe(spans.traceId);
    expect(named(found, "op", "m.score").attributes).toMatchObject({ "svc.rows.in": "3", "svc.rows.out": "3" });
    expect(found.filter(({ kind }) => kind === "worker").map(({ attributes }) => attributes["svc.rows.in"])).toEqual(["2", "1"]);
  });

  test("are bounded, and the first says how many are missing", () => {
    const recorder = new SpanRecorder("door", 0, undefined);
    for (let i = 0; i < 2_500; i++) recorder.end(recorder.open("op", "x"));
    const spans = finish(recorder);
    expect(spans).toHaveLength(2_001);
    expect(named(spans, "gateway", "door").attributes["svc.spans_left_out"]).toBe("500");
  });

  test("that never ended say so", () => {
    const recorder = new SpanRecorder("door", 0, undefined);
    recorder.open("op", "x");
    expect(named(finish(recorder), "op", "x").error).toContain("not finished");
  });
});

describe("the worker's call", () => {
  const parent = parseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  const contextOf = async (tracing: Tracing | undefined) => {
    const one = world();
    await one.engine.answer(one.deployment, ask({ "user.id": 1 }, ["user.score"]), one.now, undefined, tracing);
    return one.pool.calls[0]?.context;
  };
  test("is told its own span in the trace of the caller", async () => {
    const spans = new SpanRecorder("door", 0, parent);
    const context = await contextOf({ parent, spans });
    const worker = named(finish(spans), "worker", "m.score");
    expect(context?.traceId).toBe("4bf92f3577b34da6a3ce929d0e0e4736");
    expect(context?.traceparent).toBe(`00-4bf92f3577b34da6a3ce929d0e0e4736-${worker.spanId}-01`);
    expect(spans.root.parentId).toBe("00f067aa0ba902b7");
  });
  test("is handed the caller's header on when the query itself keeps no spans", async () => {
    const unsampled = parent && { ...parent, sampled: false };
    const context = await contextOf({ parent: unsampled, spans: undefined });
    expect(context).toMatchObject({
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
    });
  });
  test("of a query of its own has the query's id and no header", async () => {
    const context = await contextOf(undefined);
    expect(context?.traceId).toBe(context?.queryId.replaceAll("-", "") ?? "");
    expect(context).not.toHaveProperty("traceparent");
  });
});
