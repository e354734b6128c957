import { describe, expect, test } from "bun:test";
import { askedOf, settingsText, sourceRows, sourceState } from "../../../../src/ui/pages/define/source-rows.ts";

const PG = { name: "Main db", kind: "SOURCE_KIND_POSTGRESQL", settings: { host: "db", port: "5432" } } as const;
const TOPIC = { name: "clicks", kind: "SOURCE_KIND_TOPIC" } as const;
const reader = { id: "resolver:a.b", kind: "resolver", name: "a.b" } as const;
const rowsOf = (parts: Partial<Parameters<typeof sourceRows>[0]>) =>
  sourceRows({ graph: { sources: [PG, TOPIC] }, integrations: [], streams: [], usersOf: () => [], ...parts });

describe("sources", () => {
  test("take the integration whose variables begin alike; other databases are sources too", () => {
    const rows = rowsOf({
      integrations: [
        { name: "main-db", kind: "postgresql" },
        { name: "other", kind: "mysql" },
        { name: "files", kind: "aws" },
      ],
    });
    expect(rows.map(({ declared, integration, kind, name }) => [name, kind, integration?.name, declared !== undefined])).toEqual([
      ["Main db", "postgresql", "main-db", true],
      ["clicks", "topic", undefined, true],
      ["other", "mysql", "other", false],
    ]);
    expect(settingsText(PG)).toBe("host db, port 5432");
  });

  test("cannot be used with an integration of another kind, one that cannot be opened, or a stream that stands", () => {
    const problems = (parts: Parameters<typeof rowsOf>[0]) => rowsOf(parts).map(({ problem }) => problem);
    expect(problems({ integrations: [{ name: "main_db", kind: "mysql" }] })).toEqual([
      "it is postgresql in the project, and the integration of that name is mysql",
      "",
    ]);
    expect(problems({ integrations: [{ name: "main_db", kind: "mysql", problem: "sealed" }] })).toEqual(["sealed", ""]);
    const streams = [
      { source: "clicks", status: "STREAM_STATUS_RUNNING", problem: "" },
      { source: "clicks", status: "STREAM_STATUS_RETRYING", problem: "no broker" },
    ] as const;
    expect(problems({ streams })).toEqual(["", "no broker"]);
  });

  test("have a state in a word", () => {
    const series = (source: string, ...values: number[]) => ({ labels: { source }, points: values.map((value) => ({ value })) });
    const asked = (name: string) => askedOf(name, [series("Main db", 2, 3), series("x", 9)], [series("x", 1)]);
    const [pg, topic] = rowsOf({ usersOf: (name) => (name === "clicks" ? [reader] : []) });
    if (!pg || !topic) throw new Error("no rows");
    expect(sourceState(pg, asked("Main db"))).toEqual(["answers", "good"]);
    expect(sourceState(pg, asked("x"))).toEqual(["1 of 9 failed", "warn"]);
    expect(sourceState(pg, asked("y"))).toEqual(["not asked", "dim"]);
    expect(sourceState(topic, asked("clicks"))).toEqual(["read", "good"]);
    expect(sourceState({ ...pg, problem: "sealed" }, asked("x"))).toEqual(["cannot be used", "bad"]);
  });
});
