/**
 * YAML as a small tree in which every value has its offsets. The `yaml` package is loaded with the
 * first text that is read.
 */

import type * as Yaml from "yaml";

/** A value of a YAML document; offsets are UTF-16 units of its text. */
export type YamlNode = YamlScalar | YamlList | YamlMap;

/** A scalar; `value` is as YAML 1.2's core schema reads it. */
export interface YamlScalar {
  readonly kind: "scalar";
  readonly value: string | number | bigint | boolean | null;
  readonly start: number;
  readonly end: number;
}

/** A sequence. */
export interface YamlList {
  readonly kind: "list";
  readonly items: readonly YamlNode[];
  readonly start: number;
  readonly end: number;
}

/** A mapping, in the order of the text. */
export interface YamlMap {
  readonly kind: "map";
  readonly entries: readonly YamlEntry[];
  readonly start: number;
  readonly end: number;
}

/** One pair of a mapping. Keys that are no scalars are written as text. */
export interface YamlEntry {
  readonly key: string;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly value: YamlNode;
}

/** A problem of a text that is no YAML. */
export interface YamlProblem {
  /** The parser's words without its own position. */
  readonly message: string;
  readonly start: number;
  readonly end: number;
}

/** Longest text, in UTF-16 units: the time that parsing takes grows with its square. */
const LONGEST = 1_048_576;
const DEEPEST = 40;
const MOST_NODES = 20_000;

const TOO_DEEP = "it is nested too deeply or refers to itself";

/**
 * The first line of an error of the parser; when the parser ran out of stack, that the text is
 * nested too deeply.
 */
export function yamlMessage(error: Error): string {
  return /call stack/i.test(error.message) ? TOO_DEEP : (error.message.split("\n")[0] ?? "");
}

/** The root of a YAML document, or its problems. Never throws; an empty document has no root. */
export function readYaml(text: string): { root: YamlNode | undefined; problems: YamlProblem[] } {
  const yaml = require("yaml") as typeof Yaml;
  try {
    if (text.length > LONGEST) throw new TooLarge("it is longer than a mebibyte");
    const document = yaml.parseDocument(text, { prettyErrors: false, logLevel: "silent", stringKeys: false, intAsBigInt: false });
    const problems = document.errors.map((error) => ({
      message: yamlMessage(error),
      start: error.pos[0],
      end: error.pos[1],
    }));
    if (problems.length > 0) return { root: undefined, problems };
    const builder = new TreeBuilder(yaml, document);
    return { root: document.contents ? builder.build(document.contents, 0) : undefined, problems };
  } catch (error) {
    if (error instanceof NoAnchor) return { root: undefined, problems: [error.problem] };
    const message = error instanceof TooLarge ? error.message : TOO_DEEP;
    return { root: undefined, problems: [{ message, start: 0, end: Math.min(1, text.length) }] };
  }
}

/**
 * The value of a key of a mapping; the last one counts, as in YAML 1.1 tools, but doubled keys are
 * refused by `readYaml` already.
 */
export function entryOf(map: YamlMap, key: string): YamlEntry | undefined {
  return map.entries.find((entry) => entry.key === key);
}

class TooLarge extends Error {}

/** An alias of which no anchor stands before it. */
class NoAnchor extends Error {
  constructor(readonly problem: YamlProblem) {
    super(problem.message);
  }
}

class TreeBuilder {
  #nodes = 0;
  #targets: ReadonlyMap<Yaml.Alias, Yaml.Node> | undefined;
  constructor(
    readonly yaml: typeof Yaml,
    readonly document: Yaml.Document.Parsed,
  ) {}

  /**
   * The target of an alias: the last node before it with its anchor. All are found in one walk; the
   * package's own `resolve` walks the document for each alias.
   */
  #targetOf(alias: Yaml.Alias): Yaml.Node | undefined {
    if (!this.#targets) {
      const anchored = new Map<string, Yaml.Node>();
      const targets = new Map<Yaml.Alias, Yaml.Node>();
      this.yaml.visit(this.document, {
        Node: (_, node) => {
          if (this.yaml.isAlias(node)) {
            const target = anchored.get(node.source);
            if (target) targets.set(node, target);
          } else if (node.anchor) anchored.set(node.anchor, node);
        },
      });
      this.#targets = targets;
    }
    return this.#targets.get(alias);
  }

  build(node: unknown, depth: number, at = 0): YamlNode {
    const { yaml } = this;
    if (depth > DEEPEST) throw new TooLarge(`it is nested deeper than ${DEEPEST} levels`);
    if (++this.#nodes > MOST_NODES) throw new TooLarge(`it has more than ${MOST_NODES} values`);
    if (yaml.isAlias(node)) {
      const [start = at, end = at] = node.range ?? [];
      const target = this.#targetOf(node);
      if (!target) throw new NoAnchor({ message: `no anchor '&${node.source}' stands before the alias '*${node.source}'`, start, end });
      return this.build(target, depth + 1, start);
    }
    const range = yaml.isNode(node) ? node.range : undefined;
    const [start, rangeEnd] = range ? [range[0], range[1]] : [at, at];
    if (yaml.isMap(node)) {
      const entries = node.items.map((pair) => {
        const keyRange = yaml.isNode(pair.key) ? pair.key.range : undefined;
        const key = yaml.isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
        const [keyStart, keyEnd] = keyRange ? [keyRange[0], keyRange[1]] : [start, start];
        return { key, keyStart, keyEnd, value: this.build(pair.value, depth + 1, keyEnd) };
      });
      return { kind: "map", entries, start, end: node.flow ? rangeEnd : (entries.at(-1)?.value.end ?? rangeEnd) };
    }
    if (yaml.isSeq(node)) {
      const items = node.items.map((item) => this.build(item, depth + 1, start));
      return { kind: "list", items, start, end: node.flow ? rangeEnd : (items.at(-1)?.end ?? rangeEnd) };
    }
    const value = yaml.isScalar(node) ? node.value : null;
    const isPlain = value === null || ["string", "number", "bigint", "boolean"].includes(typeof value);
    return { kind: "scalar", value: isPlain ? (value as YamlScalar["value"]) : String(value), start, end: rangeEnd };
  }
}

/** Text of a scalar; undefined for null, lists and mappings. */
export function scalarText(node: YamlNode | undefined): string | undefined {
  return node?.kind === "scalar" && node.value !== null ? String(node.value) : undefined;
}

/** The value of a node as JSON has it: mappings are objects, lists are arrays. */
export function plainValue(node: YamlNode): unknown {
  if (node.kind === "list") return node.items.map(plainValue);
  if (node.kind === "scalar") return node.value;
  const object: Record<string, unknown> = {};
  for (const { key, value } of node.entries)
    Object.defineProperty(object, key, { value: plainValue(value), enumerable: true, configurable: true, writable: true });
  return object;
}
