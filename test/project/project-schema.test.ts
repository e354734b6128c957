/** The JSON schema of svc.yaml says what lint says of the file. */

import { expect, test } from "bun:test";
import Ajv from "ajv/dist/2020";
import fc from "fast-check";
import { stringify } from "yaml";
import { LineMap } from "../../src/domain/line-map.ts";
import { readYaml } from "../../src/domain/yaml-tree.ts";
import { ENVIRONMENT_KEYS, METADATA, MISSING, RUNTIMES, readProjectFile, TOP_KEYS, VENV_KEYS } from "../../src/project/project-file.ts";
import { projectSchema } from "../../src/project/project-schema.ts";
import { seeded } from "../harness/seed.ts";

const isValid = new Ajv({ strict: true, strictTypes: false, strictRequired: false }).compile(projectSchema());

/** What lint finds in a project file. */
function findings(content: unknown): readonly string[] {
  const text = stringify(content);
  return readProjectFile(readYaml(text).root, new LineMap("svc.yaml", text), text, "fallback").diagnostics.map(({ message }) => message);
}

const agree = (content: unknown): void => {
  const found = findings(content);
  expect([content, isValid(content)]).toEqual([content, found.length === 0]);
};

test.each([
  { project: "demo" },
  { name: "demo" },
  { project: 7, environments: null },
  {
    project: "demo",
    environments: { default: {}, staging: { requirements: "r.txt", runtime: "python312", "ignore-file": "x", platform_version: 2 } },
  },
  { project: "demo", environments: { default: { venvs: { "model-1": { requirements: "r.txt", runtime: "python310" } } } } },
  { project: "demo", validation: { feature: [{ name: "owner", missing: "error" }], resolver: { metadata: [{ name: "tags" }] } } },
])("what lint takes, the schema takes: %j", (content) => {
  expect(findings(content)).toEqual([]);
  agree(content);
});

test.each([
  {},
  { project: null },
  { project: "" },
  { project: "demo", owners: "a" },
  { project: "demo", name: "demo" },
  { project: "demo", environments: { default: { platform_version: 1, "platform-version": 2 } } },
  { project: "demo", environments: [] },
  { project: "demo", environments: { default: { runtime: "3.11" } } },
  { project: "demo", environments: { default: { require: "x" } } },
  { project: "demo", environments: { default: { venvs: { model: {} } } } },
  { project: "demo", environments: { default: { venvs: { "a b": { requirements: "x" } } } } },
  { project: "demo", validation: { feature: [{ name: "colour" }] } },
  { project: "demo", validation: { feature: "owner" } },
])("what lint refuses, the schema refuses: %j", (content) => {
  expect(findings(content)).not.toEqual([]);
  agree(content);
});

test("of random files both say the same", () => {
  const word = fc.constantFrom("x", "requirements.txt", "python311", "", 1, true, null, [], {});
  const hyphens = (content: object) => Object.fromEntries(Object.entries(content).map(([key, value]) => [key.replaceAll("_", "-"), value]));
  const some = (keys: readonly string[], value: fc.Arbitrary<unknown>) => {
    const made = fc.dictionary(fc.constantFrom(...keys, "other"), value, { maxKeys: 4 });
    return fc.oneof(made, made.map(hyphens));
  };
  const venv = fc.oneof(
    word,
    fc.record({ requirements: word, runtime: fc.constantFrom(...RUNTIMES, "x", null) }),
    some(Object.keys(VENV_KEYS), word),
  );
  const environment = fc.oneof(
    word,
    some(Object.keys(ENVIRONMENT_KEYS), word),
    fc.record({ runtime: fc.constantFrom(...RUNTIMES), venvs: fc.dictionary(fc.constantFrom("a", "b-1", " ", "ü"), venv, { maxKeys: 3 }) }),
  );
  const asked = fc.array(
    fc.oneof(word, fc.record({ name: fc.constantFrom(...METADATA, "x"), missing: fc.constantFrom(...MISSING, "x") }, { requiredKeys: [] })),
    {
      maxLength: 2,
    },
  );
  const policy = fc.oneof(word, asked, fc.record({ metadata: asked }), fc.record({ other: asked }));
  const file = fc.oneof(
    some(Object.keys(TOP_KEYS), word),
    fc.record(
      {
        project: fc.constantFrom("demo", "x", 1),
        environments: fc.dictionary(fc.constantFrom("default", "staging"), environment, { maxKeys: 2 }),
        validation: fc.record({ feature: policy, resolver: policy }, { requiredKeys: [] }),
      },
      { requiredKeys: ["project"] },
    ),
  );
  // Beside `project`, `name` is not read, and the schema is stricter.
  const isRead = (content: object) => !("project" in content && "name" in content);
  fc.assert(fc.property(file.filter(isRead), agree), seeded(300));
});
