/**
 * Odd values as the binary shows them: exact in JSON, aligned in tables of every width, whatever
 * they are made of.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { CheckHealthResponseSchema, HealthCheckStatus } from "../../gen/svc/v1/health_pb.ts";
import { QueryResponseSchema } from "../../gen/svc/v1/query_pb.ts";
import type { ValueSchema } from "../../gen/svc/v1/value_pb.ts";
import { type FakeServer, fakeServer, protoAnswer } from "../client/fake-server.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";

type Kind = NonNullable<MessageInitShape<typeof ValueSchema>["kind"]>;
const float = (value: number): Kind => ({ case: "doubleValue", value });
const int = (value: bigint): Kind => ({ case: "int64Value", value });
const text = (value: string): Kind => ({ case: "stringValue", value });

let sandbox: Sandbox;
let server: FakeServer;
let values: Record<string, Kind | undefined> = {};

beforeAll(() => {
  sandbox = new Sandbox({ SVC_ACCESS_TOKEN: "token", NO_COLOR: "1" });
  server = fakeServer({
    call: (request) =>
      request.url.endsWith("/CheckHealth")
        ? protoAnswer(CheckHealthResponseSchema, {
            checks: ["Metadata DB", "日本語の部品", "🧑‍🚀 rocket"].map((name) => ({ name, status: HealthCheckStatus.OK })),
          })
        : protoAnswer(QueryResponseSchema, {
            data: Object.entries(values).map(([field, kind]) => ({ field, value: kind ? { kind } : undefined })),
          }),
  });
  sandbox.env.SVC_API_SERVER = server.url;
});
afterAll(async () => {
  await server.stop();
  await sandbox[Symbol.asyncDispose]();
});

const QUERY = ["query", "--in", "user.id=1", "--out", "user"];
/** The lines that a command shows on a terminal of a width. */
async function shown(args: readonly string[], columns: number): Promise<string[]> {
  const { exitCode, screen } = await Terminal.start(sandbox, args, { columns }).ended();
  expect(exitCode).toBe(0);
  return screen.trimEnd().split("\r\n");
}

test("numbers at the ends of their types are exact in JSON, and whole in a table", async () => {
  values = {
    "n.largest": float(1.7976931348623157e308),
    "n.large": float(1e308),
    "n.small": float(5e-324),
    "n.negative": float(-1e308),
    "n.nan": float(Number.NaN),
    "n.infinite": float(Number.POSITIVE_INFINITY),
    "n.beyond": int(2n ** 53n + 1n),
    "n.last": int(2n ** 63n - 1n),
    "n.first": int(-(2n ** 63n)),
    "n.empty": text(""),
    "n.null": undefined,
  };
  const { stdout } = await sandbox.svc([...QUERY, "--json"]);
  for (const exact of [
    "1.7976931348623157e+308",
    "1e+308",
    "5e-324",
    "-1e+308",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
  ])
    expect(stdout).toMatch(new RegExp(`"value": "?${exact.replaceAll(/[.+]/g, "\\$&")}"?,?\n`));
  const data = (JSON.parse(stdout) as { data: { field: string; value: unknown }[] }).data;
  const byField = Object.fromEntries(data.map(({ field, value }) => [field, value]));
  expect(byField).toMatchObject({ "n.large": 1e308, "n.small": 5e-324, "n.empty": "", "n.null": null });
  const table = (await sandbox.svc(QUERY)).stdout;
  for (const whole of ["1.7976931348623157e+308", "5e-324", "9007199254740993", "-9223372036854775808"]) expect(table).toContain(whole);
});

test("a cell of a megabyte is whole in a pipe and in JSON, and one line on a terminal", async () => {
  const long = `${"é".repeat(500_000)}!`;
  values = { "n.long": text(long), "n.short": text("x") };
  expect((await sandbox.svc(QUERY)).stdout).toContain(long);
  expect((await sandbox.svc([...QUERY, "--json"])).stdout).toContain(long);
  const lines = await shown(QUERY, 80);
  expect(lines).toHaveLength(3);
  expect(lines[1]).toBe(`n.long         ${"é".repeat(64)}…`);
});

describe("wide characters, marks and joined signs stand in straight columns", () => {
  const long = "日本語".repeat(20);
  const named = { "a.plain": "plain", "a.日本": long, "a.😀": "😀😀😀", "a.e\u0301": "e\u0301e\u0301", "a.👩‍👩‍👧": "👩‍👩‍👧 family" };
  /** What follows the name and the mark of a row, by the width of the terminal. */
  const shownOf: Readonly<Record<number, string>> = {
    40: `${"日本語".repeat(4)}…`,
    80: `${"日本語".repeat(10)}日本…`,
    200: long,
  };
  for (const [width, cell] of Object.entries(shownOf)) {
    test(`${width} columns`, async () => {
      values = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, text(value)]));
      expect(await shown(QUERY, Number(width))).toEqual([
        "Name     Hit?  Value",
        "a.plain        plain",
        `a.日本         ${cell}`,
        "a.😀           😀😀😀",
        "a.e\u0301            e\u0301e\u0301",
        "a.👩‍👩‍👧           👩‍👩‍👧 family",
      ]);
    });
  }

  test("a table of states", async () => {
    for (const width of [40, 80, 200]) {
      expect(await shown(["healthcheck"], width)).toEqual([
        "Name          Status",
        "Metadata DB   HEALTH_CHECK_STATUS_OK",
        "日本語の部品  HEALTH_CHECK_STATUS_OK",
        "🧑‍🚀 rocket     HEALTH_CHECK_STATUS_OK",
      ]);
    }
    const block = (name: string) => [`Name    ${name}`, "Status  HEALTH_CHECK_STA", "        TUS_OK"];
    expect(await shown(["healthcheck"], 24)).toEqual([...block("Metadata DB"), "", ...block("日本語の部品"), "", ...block("🧑‍🚀 rocket")]);
  });
});
