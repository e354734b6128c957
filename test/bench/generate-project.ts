/**
 * Writes projects for measuring. As a program: `bun test/bench/generate-project.ts <folder>
 * [features]` writes one of that many features (default 1,000).
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Features of a class, its key among them. */
export const FEATURES_PER_CLASS = 20;
/**
 * Resolvers of a class: one for each two features; the last gives one, since the key needs none.
 */
export const RESOLVERS_PER_CLASS = FEATURES_PER_CLASS / 2;
const CLASSES_PER_MODULE = 5;
const TYPES = ["float", "int", "str", "bool"] as const;

/** Writes files below a folder. */
export function writeProject(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/**
 * A project of classes of 20 features: a key and 19 values of four types. Ten Python resolvers a
 * class give them, most from a value that another gave.
 */
export function largeProject(features: number): Record<string, string> {
  const classes = Math.ceil(features / FEATURES_PER_CLASS);
  const files: Record<string, string> = { "svc.yaml": "project: generated\n", ".svcignore": "README.md\n" };
  for (let module = 0; module * CLASSES_PER_MODULE < classes; module++) {
    const first = module * CLASSES_PER_MODULE;
    const numbers = Array.from({ length: Math.min(CLASSES_PER_MODULE, classes - first) }, (_, index) => first + index);
    files[`entities/part_${pad(module)}.py`] = [
      `"""Entities ${first} to ${first + numbers.length - 1}."""`,
      "",
      "from svc import online",
      "from svc.features import Features, features",
      "",
      ...numbers.flatMap((number) => [...classLines(number), ...resolverLines(number)]),
    ].join("\n");
  }
  files["entities/__init__.py"] = "";
  return files;
}

/** Features of the n-th class of `sizedProject`, its key among them: 20 to 40. */
function widthOf(number: number): number {
  return 20 + ((number * 7) % 21);
}

const CLASSES_PER_FILE = 4;
const FEATURES_PER_RESOLVER = 4;

/** Numbers of the classes of each file of a project of that many features or a few more. */
function classesByFile(features: number): number[][] {
  const files: number[][] = [];
  for (let number = 0, left = features; left > 0; left -= widthOf(number), number++) {
    if (number % CLASSES_PER_FILE === 0) files.push([]);
    files.at(-1)?.push(number);
  }
  return files;
}

/**
 * A project of about that many features as people write them: classes of 20 to 40, with comments
 * above some, four to a file beside their resolvers, one for four features. `edition` is a number
 * that one line of the first file has.
 */
export function sizedProject(features: number, edition: number): Record<string, string> {
  const files = classesByFile(features).map((numbers, file) => sizedFile(numbers, file, file === 0 ? edition : 0));
  return { "svc.yaml": "project: sized\n", "entities/__init__.py": "", ...Object.fromEntries(files) };
}

/** Path and text of the file of `sizedProject` that has the edition. */
export function sizedProjectEdit(features: number, edition: number): [string, string] {
  return sizedFile(classesByFile(features)[0] ?? [], 0, edition);
}

function sizedFile(numbers: readonly number[], file: number, edition: number): [string, string] {
  const head = ["from svc import online", "from svc.features import Features, features", "", `EDITION = ${edition}`, ""];
  const text = [...head, ...numbers.flatMap((number) => [...sizedClass(number), ...sizedResolvers(number)]), ""].join("\n");
  return [`entities/part_${pad(file)}.py`, text];
}

function sizedClass(number: number): string[] {
  const values = Array.from({ length: widthOf(number) - 1 }, (_, index) => [
    ...(index % 5 === 0 ? [`    # Value ${index} of the entity.`, `    # :owner: team${index % 3}@example.com`] : []),
    `    value_${pad(index)}: ${TYPES[index % TYPES.length]}`,
  ]);
  return [
    "",
    `@features(tags=["group:${number % 7}"], max_staleness="1h")`,
    `class ${className(number)}:`,
    "    id: int",
    ...values.flat(),
    "",
  ];
}

function sizedResolvers(number: number): string[] {
  const owner = className(number);
  const groups = Math.ceil((widthOf(number) - 1) / FEATURES_PER_RESOLVER);
  return Array.from({ length: groups }, (_, group) => {
    const outputs = outputsOf(number, group);
    const values = outputs.map((output) => `value_${pad(output)}=${expression(output, "given")}`);
    const input = group === 0 ? "id" : `value_${pad((group - 1) * FEATURES_PER_RESOLVER)}`;
    const returned = outputs.map((output) => `${owner}.value_${pad(output)}`).join(", ");
    return [
      "",
      "@online",
      `def resolve_${pad(number)}_${pad(group)}(given: ${owner}.${input}) -> Features[${returned}]:`,
      `    return ${owner}(${values.join(", ")})`,
      "",
    ];
  }).flat();
}

function outputsOf(number: number, group: number): number[] {
  const all = Array.from({ length: FEATURES_PER_RESOLVER }, (_, index) => group * FEATURES_PER_RESOLVER + index);
  return all.filter((output) => output < widthOf(number) - 1);
}

/**
 * The same classes and functions without the SDK: dataclasses whose values have defaults, and
 * functions that make one. `everything` imports all files.
 */
export function plainProject(features: number): Record<string, string> {
  const files = classesByFile(features);
  const modules = files.map((numbers, file) => {
    const head = ["from dataclasses import dataclass", "from typing import Optional", ""];
    return [`entities/part_${pad(file)}.py`, [...head, ...numbers.flatMap(plainClass), ""].join("\n")];
  });
  const imports = files.map((_, file) => `import entities.part_${pad(file)}\n`);
  return { "everything.py": imports.join(""), "entities/__init__.py": "", ...Object.fromEntries(modules) };
}

function plainClass(number: number): string[] {
  const values = Array.from({ length: widthOf(number) - 1 }, (_, index) => `    value_${pad(index)}: Optional[${typeOf(index)}] = None`);
  const groups = Math.ceil((widthOf(number) - 1) / FEATURES_PER_RESOLVER);
  const functions = Array.from({ length: groups }, (_, group) => {
    const given = outputsOf(number, group).map((output) => `value_${pad(output)}=${expression(output, "given")}`);
    return [
      "",
      `def resolve_${pad(number)}_${pad(group)}(given: int) -> "${className(number)}":`,
      `    return ${className(number)}(id=0, ${given.join(", ")})`,
      "",
    ];
  });
  return ["", "@dataclass", `class ${className(number)}:`, "    id: int", ...values, "", ...functions.flat()];
}

/**
 * A project for asking: 20 stored features of a profile, and one that a Python resolver computes at
 * each query.
 */
export function queryProject(): Record<string, string> {
  const stored = STORED_FEATURES.map((name, index) => `    ${name}: ${TYPES[index % TYPES.length]}`);
  const values = STORED_FEATURES.map((name, index) => `        ${name}=${expression(index, "id")},`);
  return {
    "svc.yaml": "project: bench\n",
    "scores.py": [
      '"""Twenty features that are stored, and one that is computed each time."""',
      "",
      "from svc import online",
      "from svc.features import Features, feature, features",
      "",
      "",
      '@features(max_staleness="infinity")',
      "class Profile:",
      "    id: int",
      ...stored,
      '    live: float = feature(max_staleness="0s")',
      "",
      "",
      "@online",
      "def stored(id: Profile.id) -> Features[",
      ...STORED_FEATURES.map((name) => `    Profile.${name},`),
      "]:",
      "    return Profile(",
      ...values,
      "    )",
      "",
      "",
      "@online",
      "def live(id: Profile.id) -> Profile.live:",
      "    return id * 1.5",
      "",
    ].join("\n"),
  };
}

/** Names of the stored features of `queryProject`. */
export const STORED_FEATURES: readonly string[] = Array.from({ length: 20 }, (_, index) => `value_${pad(index)}`);

/**
 * A module `wide.py` with a class `Wide` of that many stored features, which resolvers of ten
 * outputs give.
 */
export function wideModule(features: number): Record<string, string> {
  const names = wideFeatures(features);
  const resolvers = Array.from({ length: Math.ceil(features / WIDE_OUTPUTS) }, (_, at) => {
    const own = names.slice(at * WIDE_OUTPUTS, (at + 1) * WIDE_OUTPUTS);
    return [
      "",
      "",
      "@online",
      `def wide_${pad(at)}(id: Wide.id) -> Features[${own.map((name) => `Wide.${name}`).join(", ")}]:`,
      `    return Wide(${own.map((name, index) => `${name}=${expression(at * WIDE_OUTPUTS + index, "id")}`).join(", ")})`,
    ];
  });
  return {
    "wide.py": [
      `"""${features} features that are stored."""`,
      "",
      "from svc import online",
      "from svc.features import Features, features",
      "",
      "",
      '@features(max_staleness="infinity")',
      "class Wide:",
      "    id: int",
      ...names.map((name, index) => `    ${name}: ${typeOf(index)}`),
      ...resolvers.flat(),
      "",
    ].join("\n"),
  };
}

const WIDE_OUTPUTS = 10;

/** Names of the stored features of `wideModule`. */
export function wideFeatures(features: number): readonly string[] {
  return Array.from({ length: features }, (_, index) => `value_${pad(index)}`);
}

/** Python type of the n-th stored feature of a class. */
export function typeOf(index: number): string {
  return TYPES[index % TYPES.length] ?? "float";
}

function classLines(number: number): string[] {
  const values = Array.from({ length: FEATURES_PER_CLASS - 1 }, (_, index) => `    value_${pad(index)}: ${TYPES[index % TYPES.length]}`);
  return [
    "",
    `@features(owner="team@example.com", tags=["group:${number % 7}"], max_staleness="1h")`,
    `class ${className(number)}:`,
    "    id: int",
    ...values,
    "",
  ];
}

function resolverLines(number: number): string[] {
  const owner = className(number);
  return Array.from({ length: RESOLVERS_PER_CLASS }, (_, index) => {
    const outputs = [index * 2, index * 2 + 1].filter((output) => output < FEATURES_PER_CLASS - 1);
    const names = outputs.map((output) => `value_${pad(output)}`);
    const input = index === 0 ? "id" : `value_${pad(Math.floor((index * 2 - 2) / 4) * 4)}`;
    const returned = outputs.length === 1 ? `${owner}.${names[0]}` : `Features[${names.map((name) => `${owner}.${name}`).join(", ")}]`;
    const body =
      outputs.length === 1
        ? `    return ${expression(outputs[0] ?? 0, "given")}`
        : `    return ${owner}(${outputs.map((output, at) => `${names[at]}=${expression(output, "given")}`).join(", ")})`;
    return ["", "@online", `def resolve_${pad(number)}_${pad(index)}(given: ${owner}.${input}) -> ${returned}:`, body, ""];
  }).flat();
}

/** An expression over a number that has the type of the n-th feature. */
function expression(index: number, name: string): string {
  switch (TYPES[index % TYPES.length]) {
    case "float":
      return `${name} * ${index + 1}.5`;
    case "int":
      return `int(${name}) + ${index}`;
    case "str":
      return `f"text {${name}} ${index}"`;
    default:
      return `${name} > ${index}`;
  }
}

function className(number: number): string {
  return `Entity${pad(number)}`;
}

function pad(number: number): string {
  return String(number).padStart(3, "0");
}

if (import.meta.main) {
  const [folder, features = "1000"] = process.argv.slice(2);
  if (!folder) throw new Error("which folder?");
  writeProject(folder, largeProject(Number(features)));
}
