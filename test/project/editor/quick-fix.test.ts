/** A finding that knows what could stand in its place is gone when it stands there. */

import { expect, test } from "bun:test";
import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { offsetsOf } from "../../../src/project/editor/text-position.ts";
import { withEdits } from "../../../src/project/editor/workspace-edit.ts";
import { marked } from "../../harness/marked.ts";
import { DEFINITION_FIXTURES } from "../lint/definition-fixtures.ts";
import { GRAPH_FIXTURES } from "../lint/graph-fixtures.ts";
import { readDeployed } from "./places.ts";

const list = (files: Readonly<Record<string, string>>) => Object.entries(files).map(([path, text]) => ({ path, text }));
const same = (one: Diagnostic) => `${one.code} ${one.message}`;

test("of all rules that have replacements", () => {
  const rules = new Set<number>();
  for (const fixture of [...DEFINITION_FIXTURES, ...GRAPH_FIXTURES]) {
    const files = Object.fromEntries(Object.entries(fixture.files).map(([path, text]) => [path, marked(text).text]));
    for (const finding of readDeployed(list(files)).diagnostics) {
      const { replacements, span } = finding;
      if (!span) continue;
      const text = files[span.file] as string;
      for (const newText of replacements) {
        const fixed = { ...files, [span.file]: withEdits(text, [{ ...offsetsOf(text, span), newText }]) };
        expect(readDeployed(list(fixed)).diagnostics.map(same)).not.toContain(same(finding));
        rules.add(finding.code);
      }
    }
  }
  expect([...rules].sort()).toEqual([124, 133, 142, 151, 152, 153, 155]);
});
