import { expect, test } from "bun:test";
import { type AnswerField, answerOrigins } from "../../../../src/server/query/answer/answer.ts";
import type { SharedAnswerParts } from "../../../../src/server/query/plan/plan.ts";

const fields = (...origins: readonly (readonly [hit: boolean, resolver: string])[]) =>
  origins.map(([hit, resolver]) => ({ hit, resolver })) as unknown as AnswerField[];

test("origins that are kept for the next answer of a plan are given to it only when they are the same", () => {
  const shared: SharedAnswerParts = {};
  const first = answerOrigins({ shared, fields: fields([true, "a.one"], [false, "a.two"]) });
  expect(first).toMatchObject({ text: "+a.one\na.two\n", hitShare: 0.5 });
  expect(answerOrigins({ shared, fields: fields([true, "a.one"], [false, "a.two"]) })).toBe(first);
  expect(answerOrigins({ shared, fields: fields([true, "a.one"], [true, "a.two"]) })).toMatchObject({
    text: "+a.one\n+a.two\n",
    hitShare: 1,
  });
  expect(answerOrigins({ shared, fields: fields([true, "a.one"], [true, "b.two"]) }).text).toBe("+a.one\n+b.two\n");
  expect(answerOrigins({ shared, fields: fields([false, ""]) })).toMatchObject({ text: "\n", hitShare: 0 });
  expect(answerOrigins({ shared, fields: [] })).toMatchObject({ text: "", hitShare: null });
});
