import { expect, test } from "bun:test";
import fc from "fast-check";
import { parse } from "yaml";
import type { Style, TextView } from "../../src/output/view.ts";
import { yamlView } from "../../src/output/yaml-view.ts";
import { seeded } from "../harness/seed.ts";

const shown = (value: unknown) => (yamlView((data: unknown) => data) as TextView<unknown>).text(value, {} as Style);

test("a document that is shown reads as the same document", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const given = JSON.parse(JSON.stringify(value));
      expect(parse(shown(given))).toEqual(given);
    }),
    seeded(500),
  );
});

test("numbers beyond 2^53 stay exact, as text", () => {
  expect([shown({ a: 5n }), shown({ a: 2n ** 60n })]).toEqual(["a: 5\n", 'a: "1152921504606846976"\n'].map((text) => text.trimEnd()));
});
