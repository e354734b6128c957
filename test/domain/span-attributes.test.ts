import { expect, test } from "bun:test";
import { currentAttributes } from "../../src/domain/span-attributes.ts";

test("attributes of older versions have today's names, and today's are left alone", () => {
  const former = { statement: "select 1", source: "db", rows_out: "2", provider: "m.f", own: "x" };
  const current = { "db.query.text": "select 1", "svc.source": "db", "svc.rows.out": "2", own: "x" };
  expect(currentAttributes(former)).toEqual(current);
  expect(currentAttributes(current)).toBe(current);
});
