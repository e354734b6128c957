/** Placeholders `${...}` of a SQL file: the resolver's inputs (rule 155). */

import { create } from "@bufbuild/protobuf";
import {
  type FeatureSet,
  type ResolverInput,
  ResolverInputSchema,
  type SqlParameter,
  SqlParameterSchema,
} from "../../../gen/svc/v1/graph_pb.ts";
import { closestNames } from "../closest.ts";
import type { BrokenPath, GraphIndex } from "../graph-index.ts";
import type { RuleProblem } from "../rules/rule.ts";
import { BAD_PLACEHOLDER } from "../rules/sql-files.ts";
import type { FileReport } from "./file-report.ts";
import type { Completeness } from "./link-input.ts";
import { INCREMENTAL_PLACEHOLDER } from "./statement.ts";
import { type SqlDialect, SqlScanner } from "./tokenize.ts";

const SHOWN_NAME = 60;

/** A problem with a placeholder, and the placeholders that may have been meant, best first. */
interface BadPlaceholder {
  readonly problem: RuleProblem;
  readonly replacements?: readonly string[];
}

/** A reader of one file's placeholders, which checks them. */
export class PlaceholderReader {
  constructor(
    readonly report: FileReport,
    readonly index: GraphIndex,
    readonly completeness: Completeness,
    /** The class that the file resolves, if that is known. */
    readonly set: FeatureSet | undefined,
  ) {}

  /** The placeholders in order of appearance; those with a finding are left out. */
  read(dialect: SqlDialect | undefined): SqlParameter[] {
    const parameters: SqlParameter[] = [];
    const scanner = new SqlScanner(this.report.body, dialect);
    while (scanner.next()) {
      if (scanner.kind === "string") this.#checkString(scanner);
      if (scanner.kind !== "placeholder") continue;
      const place = { offset: scanner.start, length: scanner.end - scanner.start };
      if (writtenIn(scanner) === INCREMENTAL_PLACEHOLDER) {
        parameters.push(create(SqlParameterSchema, { ...place, incremental: true }));
        continue;
      }
      const path = this.#path(scanner);
      if (path !== undefined) parameters.push(create(SqlParameterSchema, { path, ...place }));
    }
    return parameters;
  }

  /** A placeholder inside of a text literal is text and is not bound. */
  #checkString(scanner: SqlScanner): void {
    const inside = /\$\{\s*([\w.]+)\s*\}/.exec(scanner.value.slice(0, 1000));
    if (!inside || (inside[1] !== "now" && !this.index.resolvePath(inside[1] as string).found)) return;
    const start = scanner.start + inside.index;
    this.report.addInBody(BAD_PLACEHOLDER.inText({ placeholder: inside[0] }), start, start + inside[0].length);
  }

  /**
   * The path of a placeholder from its namespace, empty for `now`; undefined after a finding, and
   * when it is not known.
   */
  #path(scanner: SqlScanner): string | undefined {
    const { start, end, open } = scanner;
    if (open) {
      this.report.addInBody(BAD_PLACEHOLDER.open(), start, start + 2);
      return undefined;
    }
    const written = writtenIn(scanner);
    if (written === "now") return "";
    const bad = this.#check(written);
    if (bad !== undefined) {
      if (bad !== "not known") this.report.addInBody(bad.problem, start, end, { replacements: bad.replacements ?? [] });
      return undefined;
    }
    const resolved = this.index.resolvePath(written);
    return resolved.found ? resolved.path : undefined;
  }

  /** The problem with a path; undefined when it is right, "not known" when it may be. */
  #check(written: string): BadPlaceholder | "not known" | undefined {
    if (!/^[\w.]+$/.test(written)) return { problem: BAD_PLACEHOLDER.notPath({ written: written.slice(0, SHOWN_NAME) }) };
    const placeholder = `\${${written}}`;
    const resolved = this.index.resolvePath(written);
    if (!resolved.found) return this.#broken(written, resolved);
    if (resolved.feature.kind.case !== "scalar") return { problem: BAD_PLACEHOLDER.relation({ placeholder }) };
    const many = resolved.relations.find((relation) => relation.kind.case === "hasMany");
    if (many) return { problem: BAD_PLACEHOLDER.manyValues({ placeholder, relation: many.fqn }) };
    const { set } = this;
    if (!set || resolved.root === set) return undefined;
    const leadsToRoot = (feature: FeatureSet["features"][number]): boolean =>
      feature.kind.case === "hasOne" && feature.kind.value.foreignNamespace === resolved.root.namespace;
    const relation = set.features.find(leadsToRoot);
    const rest = resolved.path.slice(resolved.root.namespace.length);
    const own = relation && `\${${relation.fqn}${rest}}`;
    const cure = own ? `write ${own}` : `use features of ${set.namespace}`;
    const problem = BAD_PLACEHOLDER.otherClass({ placeholder, owner: resolved.root.className, resolved: set.className, cure });
    return { problem, replacements: own ? [own] : [] };
  }

  #broken(written: string, { within, segment, index }: BrokenPath): BadPlaceholder | "not known" {
    if (within ? !this.completeness.allFeatures(within.namespace) : !this.completeness.allClasses) return "not known";
    const placeholder = `\${${written}}`;
    if (!within && index > 0) return { problem: BAD_PLACEHOLDER.throughValue({ placeholder }) };
    const names = within ? within.features.map((feature) => feature.name) : [...this.index.sets.keys(), "now"];
    const near = closestNames(segment, names);
    const where = within ? `'${segment}' is no feature of class ${within.className}` : `'${segment}' is no feature class`;
    const meant = near.length > 0 ? `; did you mean ${near.map((name) => `'${name}'`).join(" or ")}?` : "";
    const segments = written.split(".");
    const replacements = near.map((name) => `\${${[...segments.slice(0, index), name, ...segments.slice(index + 1)].join(".")}}`);
    return { problem: BAD_PLACEHOLDER.unknown({ placeholder, where, near: meant }), replacements };
  }
}

function writtenIn({ start, end, text }: SqlScanner): string {
  return text.slice(start + 2, end - 1).trim();
}

/**
 * A resolver's inputs: what its placeholders name, once each; the primary key when they name no
 * feature.
 */
export function inputsOf(parameters: readonly SqlParameter[], set: FeatureSet): ResolverInput[] {
  const paths = [...new Set(parameters.filter(({ incremental }) => !incremental).map((parameter) => parameter.path))];
  const features = paths.filter((path) => path !== "");
  if (features.length === 0) features.push(set.primaryKey);
  const inputs = features.map((path) => create(ResolverInputSchema, { name: path, kind: { case: "feature", value: { path } } }));
  if (paths.includes("")) inputs.push(create(ResolverInputSchema, { name: "now", kind: { case: "now", value: {} } }));
  return inputs;
}
