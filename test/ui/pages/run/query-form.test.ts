import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { EMPTY_FORM, filled, type QueryForm, readForm, requestOf, writeForm } from "../../../../src/ui/pages/run/query-form.ts";
import { seeded } from "../../../harness/seed.ts";

const word = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }).filter((text) => text.trim() !== "" && !text.includes("="));
const pairs = fc.array(fc.tuple(word, fc.string({ maxLength: 12, unit: "binary" })), { maxLength: 4 });
const words = fc.array(word, { maxLength: 4 });
const text = fc.oneof(fc.constant(""), word);
const forms: fc.Arbitrary<QueryForm> = fc.record({
  ...{ inputs: pairs, outputs: words, staleness: pairs, plannerOptions: pairs, context: pairs, tags: words },
  ...{ now: text, queryName: text, queryNameVersion: text, correlationId: text },
  ...{ explain: fc.boolean(), trace: fc.boolean(), stages: fc.boolean() },
});

/** The form with what an address cannot hold, lone halves of characters, replaced. */
function wellFormed(form: QueryForm): QueryForm {
  return JSON.parse(JSON.stringify(form), (_, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value)) as QueryForm;
}

describe("a query's form", () => {
  test("is read from the address that holds it", () => {
    fc.assert(
      fc.property(forms, (form) => {
        const query = writeForm(form);
        if (!query) return;
        expect(readForm(new URLSearchParams(query.toString()))).toEqual(filled(wellFormed(form)));
      }),
      seeded(300),
    );
  });

  test("is too long for an address from some length on", () => {
    expect(writeForm({ ...EMPTY_FORM, inputs: [["user.id", "x".repeat(9_000)]] })).toBeUndefined();
  });

  test("becomes the request, without rows in which nothing was typed", () => {
    const form: QueryForm = {
      ...EMPTY_FORM,
      inputs: [
        [" user.id ", "1"],
        ["", ""],
      ],
      outputs: ["user.name", "", "user.name"],
      staleness: [
        ["user.name", "1h30m"],
        ["user.age", "infinity"],
      ],
      context: [
        ["n", "12345678901234567890"],
        ["list", '[1, 2.5, null, {"a": true}]'],
        ["text", "not json"],
      ],
      now: "2024-05-01T14:00:00+02:00",
      trace: true,
    };
    const { request, problems } = requestOf(form);
    expect(problems).toEqual([]);
    expect(request).toMatchObject({
      inputs: [{ feature: "user.id", text: "1" }],
      outputs: ["user.name"],
      staleness: { "user.name": "5400s", "user.age": "315576000000s" },
      now: "2024-05-01T12:00:00.000Z",
      ...{ trace: true, explain: false, includeMeta: true },
    });
    expect(request.queryContext).toEqual({
      n: { int64Value: "12345678901234567890" },
      list: {
        listValue: {
          values: [
            { int64Value: "1" },
            { doubleValue: 2.5 },
            { nullValue: "NULL_VALUE_UNSPECIFIED" },
            { structValue: { fields: [{ name: "a", value: { boolValue: true } }] } },
          ],
        },
      },
      text: { stringValue: "not json" },
    });
  });

  test.each([
    [{}, /at least one input/],
    [
      {
        inputs: [
          ["user.id", "1"],
          ["user.id", "2"],
        ],
      },
      /'user.id' is given more than one value/,
    ],
    [{ inputs: [["user.id", "1"]], staleness: [["user.name", "soon"]] }, /'user.name': expected a duration/],
    [{ inputs: [["user.id", "1"]], now: "2024-05-01" }, /As of: expected a time with its zone/],
    [{ inputs: [["user.id", "1"]], plannerOptions: [["disable_cache_read", "true"]] }, /unknown planner option 'disable_cache_read'/],
    [{ inputs: [["user.id", "1"]], queryNameVersion: "1" }, /needs the name of a query/],
  ] as const)("says what is wrong: %j", (changes, problem) => {
    expect(requestOf({ ...EMPTY_FORM, ...(changes as Partial<QueryForm>) }).problems.join("\n")).toMatch(problem);
  });
});
