/**
 * The JSON schema of svc.yaml, for editors: made of the keys by which the file is read, so that
 * both say the same. Words are in small letters here, which reading does not insist on.
 */

import { MAX_VENVS, VENV_NAME } from "../domain/venvs.ts";
import { ENVIRONMENT_KEYS, METADATA, MISSING, RUNTIMES, TOP_KEYS, VENV_KEYS } from "./project-file.ts";

type Schema = Readonly<Record<string, unknown>>;

/** A text, or a number or word of YAML that is taken as one. */
const TEXT: Schema = { type: ["string", "number", "boolean"], pattern: "\\S" };
const NULL: Schema = { type: "null" };
const orNothing = (schema: Schema): Schema => ({ anyOf: [schema, NULL] });
const RUNTIME: Schema = { enum: [...RUNTIMES, null] };

/** The schema, in the draft 2020-12 of JSON Schema. */
export function projectSchema(): Schema {
  const venv = mapping(VENV_KEYS, { requirements: TEXT, runtime: RUNTIME }, { required: ["requirements"] });
  const venvs = { type: "object", propertyNames: { pattern: VENV_NAME.source }, maxProperties: MAX_VENVS, additionalProperties: venv };
  const text = orNothing(TEXT);
  const environment = mapping(ENVIRONMENT_KEYS, {
    ...{ requirements: text, runtime: RUNTIME, dockerfile: text, platform_version: text, ignore_file: text, venvs: orNothing(venvs) },
  });
  const asked = {
    type: "object",
    properties: { name: { enum: METADATA }, missing: { enum: MISSING } },
    required: ["name"],
    additionalProperties: false,
  };
  const list = { type: "array", items: asked };
  const policy = orNothing({ anyOf: [list, { type: "object", properties: { metadata: list }, additionalProperties: false }] });
  const validation = { type: "object", properties: { feature: policy, resolver: policy }, additionalProperties: false };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "svc.yaml, the project file of svc",
    ...mapping(
      TOP_KEYS,
      {
        ...{ project: TEXT, name: TEXT, validation: orNothing(validation) },
        environments: orNothing({ type: "object", additionalProperties: orNothing(environment) }),
      },
      { oneOf: [{ required: ["project"] }, { required: ["name"] }] },
    ),
  };
}

/** A mapping with the keys of a table alone, each once, with `_` or with `-` in its place. */
function mapping<K extends string>(keys: Readonly<Record<K, string>>, values: Readonly<Record<K, Schema>>, rest: Schema = {}): Schema {
  const properties = (Object.keys(keys) as K[]).flatMap((key) => {
    const schema = { description: keys[key], ...values[key] };
    return [...new Set([key, key.replaceAll("_", "-")])].map((form) => [form, schema] as const);
  });
  const spelt = Object.keys(keys).filter((key) => key.includes("_"));
  const once = spelt.length > 0 ? { allOf: spelt.map((key) => ({ not: { required: [key, key.replaceAll("_", "-")] } })) } : {};
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: false, ...once, ...rest };
}
