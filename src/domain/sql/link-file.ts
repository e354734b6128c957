/** One SQL file as a resolver. */

import { create } from "@bufbuild/protobuf";
import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import {
  type FeatureSet,
  IncrementalMode,
  type Resolver,
  ResolverSchema,
  RowCount,
  type SqlColumn,
  type SqlParameter,
} from "../../../gen/svc/v1/graph_pb.ts";
import { closestNames, didYouMean } from "../closest.ts";
import type { GraphIndex } from "../graph-index.ts";
import { LineMap } from "../line-map.ts";
import { BAD_PARTITIONED_BY, BAD_UNIQUE_ON, BAD_VALUE } from "../rules/resolvers.ts";
import type { RuleProblem } from "../rules/rule.ts";
import { BAD_HEADER, INCOMPLETE_INCREMENTAL, MISSING_HEADER_KEY, UNKNOWN_CLASS } from "../rules/sql-files.ts";
import { sqlResolverFqn } from "../source-file.ts";
import { scalarText, type YamlNode } from "../yaml-tree.ts";
import { featureOfColumn } from "./columns.ts";
import { dialectOf } from "./dialect.ts";
import { FileReport } from "./file-report.ts";
import { HEADER_KEYS, type HeaderKey, isPartitionedBy, readHeader, type SqlHeader } from "./header.ts";
import type { Completeness, SqlFile } from "./link-input.ts";
import { ColumnReader } from "./output-columns.ts";
import { inputsOf, PlaceholderReader } from "./placeholders.ts";
import { type SelectList, selectList } from "./select-list.ts";
import { type IncrementalSettings, isEmptyText, readSettings, type SqlSettings } from "./settings.ts";

/** The result of linking a SQL file. */
export interface LinkedFile {
  /** The resolver; undefined when there are errors, or when its class is not known. */
  readonly resolver: Resolver | undefined;
  readonly diagnostics: Diagnostic[];
  /** The span that stands for the resolver's name. */
  readonly nameSpan: Span;
}

/** The linker of one SQL file, which gives its resolver and findings. */
export class SqlFileLinker {
  readonly #header: SqlHeader;
  readonly #report: FileReport;

  constructor(
    readonly file: SqlFile,
    readonly index: GraphIndex,
    readonly completeness: Completeness,
  ) {
    this.#header = readHeader(file.text);
    this.#report = new FileReport(new LineMap(file.path, file.text), this.#header.bodyStart);
  }

  /** The resolver and the findings. */
  link(): LinkedFile {
    const report = this.#report;
    this.#checkEncoding();
    this.#checkHeader();
    const settings = readSettings(this.#header, (node, problem, label) =>
      report.addAt(BAD_VALUE.header({ problem, label }), node.start, node.end),
    );
    const set = this.#resolvedClass();
    const source = this.#value("source");
    if (!source && this.#mayMiss("source")) this.#missing("source", "the data source it reads, for example `-- source: pg`");
    const dialect = source ? dialectOf(source, this.index.graph) : undefined;
    const list = selectList(report.body, dialect);
    const parameters = new PlaceholderReader(report, this.index, this.completeness, set).read(dialect);
    const reader = new ColumnReader(report, this.completeness, list, settings.fields ?? [], settings.incremental?.column?.name);
    const isQuery = reader.checkStatement();
    const nameSpan = this.#nameSpan();
    if (!set || !isQuery) return { resolver: undefined, diagnostics: report.findings, nameSpan };
    const columns = reader.read(set, this.#entry("fields")?.value);
    if (parameters.every((parameter) => parameter.path === "")) reader.checkKey(set);
    this.#checkIncremental(settings.incremental, parameters, list);
    const uniqueOn = this.#uniqueOn(settings, set, list, columns);
    const isSound = source !== undefined && !report.hasErrors;
    const resolver = isSound ? this.#resolver(set, source, settings, list, parameters, columns, uniqueOn, nameSpan) : undefined;
    return { resolver, diagnostics: report.findings, nameSpan };
  }

  #resolver(
    set: FeatureSet,
    source: string,
    settings: SqlSettings,
    list: SelectList,
    parameters: SqlParameter[],
    columns: SqlColumn[],
    uniqueOn: string[],
    span: Span,
  ): Resolver {
    const inputs = inputsOf(parameters, set);
    const sourceEntry = this.#entry("source");
    const given = new Set(inputs.map((input) => (input.kind.case === "feature" ? input.kind.value.path : "")));
    const bodyLine = this.#report.lines.position(this.#header.bodyStart).line;
    const stalenessEntry = this.#entry("max_staleness");
    const { kind, tags, environments, owner, timeout, schedule, count, total, incremental, maxStaleness } = settings;
    return create(ResolverSchema, {
      fqn: sqlResolverFqn(this.file.path),
      kind,
      inputs,
      outputs: columns.map((column) => column.feature).filter((feature) => !given.has(feature)),
      tags,
      environments,
      owner,
      description: this.#header.docstring,
      timeout,
      schedule,
      span,
      uniqueOn,
      ...(maxStaleness && stalenessEntry && { maxStaleness, maxStalenessSpan: this.#spanOf(stalenessEntry.value) }),
      sourceSha256: new Bun.CryptoHasher("sha256").update(this.file.text).digest("hex"),
      body: {
        case: "sql",
        value: {
          source,
          body: this.#report.body.slice(0, list.end),
          parameters,
          columns,
          count,
          bodyLine,
          total,
          star: list.star,
          namespace: set.namespace,
          ...(incremental && {
            incremental: {
              ...{ mode: incremental.mode, basis: incremental.basis, column: incremental.column?.name ?? "" },
              ...(incremental.lookback && { lookback: incremental.lookback }),
            },
          }),
          ...(sourceEntry && { sourceSpan: this.#spanOf(sourceEntry.value) }),
        },
      },
    });
  }

  #entry(key: HeaderKey) {
    return this.#header.entries.find((entry) => entry.known === key);
  }

  #value(key: HeaderKey): string | undefined {
    return scalarText(this.#entry(key)?.value)?.trim() || undefined;
  }

  #spanOf({ start, end }: YamlNode): Span {
    return this.#report.lines.span(start, end);
  }

  #nameSpan(): Span {
    const { lines } = this.#report;
    const entry = this.#entry("resolves");
    if (entry) return this.#spanOf(entry.value);
    const { start } = this.#header;
    return lines.span(start, start + (/^\S+/.exec(this.file.text.slice(start, start + 80))?.[0].length ?? 1));
  }

  /** Reports what is missing for the mode of incremental runs (rule 156). */
  #checkIncremental(incremental: IncrementalSettings | undefined, parameters: readonly SqlParameter[], list: SelectList): void {
    const report = this.#report;
    const bound = parameters.find((parameter) => parameter.incremental);
    if (!incremental) {
      if (bound && !this.#entry("incremental"))
        report.addInBody(INCOMPLETE_INCREMENTAL.noSettings(), bound.offset, bound.offset + bound.length);
      return;
    }
    const { mode, column, node } = incremental;
    const add = (problem: RuleProblem, at: YamlNode): void => report.addAt(problem, at.start, at.end);
    if (parameters.some((parameter) => parameter.path !== "")) add(INCOMPLETE_INCREMENTAL.takesFeatures(), node);
    if (mode === IncrementalMode.PARAMETER) {
      if (!bound) add(INCOMPLETE_INCREMENTAL.noPlaceholder(), node);
      if (column) add(INCOMPLETE_INCREMENTAL.uselessColumn(), column.node);
      return;
    }
    const word = mode === IncrementalMode.ROW ? "row" : "group";
    if (bound) report.addInBody(INCOMPLETE_INCREMENTAL.uselessPlaceholder({ mode: word }), bound.offset, bound.offset + bound.length);
    if (!column) {
      add(INCOMPLETE_INCREMENTAL.noColumn({ mode: word }), node);
      return;
    }
    const names = list.items.flatMap(({ name }) => name ?? []);
    if (list.star || names.some((name) => name.toLowerCase() === column.name.toLowerCase())) return;
    const near = didYouMean(column.name, names) || `it returns ${names.join(", ")}`;
    add(INCOMPLETE_INCREMENTAL.unknownColumn({ column: column.name, near }), column.node);
  }

  /**
   * The features that `unique_on` names (rule 197); of a `*` what nobody has looked up counts too.
   */
  #uniqueOn({ count, uniqueOn = [] }: SqlSettings, set: FeatureSet, list: SelectList, columns: readonly SqlColumn[]): string[] {
    const [first] = uniqueOn;
    if (!first) return [];
    if (count === RowCount.ONE || count === RowCount.ONE_OR_NONE) {
      this.#report.addAt(BAD_UNIQUE_ON.oneRow({ count: this.#value("count") ?? "" }), first.start, uniqueOn.at(-1)?.end ?? first.end);
      return [];
    }
    const returned = columns.map(({ feature }) => feature);
    const found: string[] = [];
    for (const { name, start, end } of uniqueOn) {
      const feature = featureOfColumn(name, set);
      if (feature && found.includes(feature.fqn)) this.#report.addAt(BAD_UNIQUE_ON.twice({ feature: `'${name}'` }), start, end);
      else if (feature?.kind.case === "scalar" && (list.star || returned.includes(feature.fqn))) found.push(feature.fqn);
      else if (feature && feature.kind.case !== "scalar") this.#report.addAt(BAD_UNIQUE_ON.relation({ feature: `'${name}'` }), start, end);
      else if (feature || this.completeness.allFeatures(set.namespace)) {
        const names = returned.map((fqn) => fqn.slice(set.namespace.length + 1));
        const near = didYouMean(name, names) || `it returns ${names.slice(0, 8).join(", ")}`;
        this.#report.addAt(BAD_UNIQUE_ON.unknownColumn({ column: name, near }), start, end, { replacements: closestNames(name, names) });
      }
    }
    return found;
  }

  /**
   * Reports bytes that are no UTF-8, which were read as U+FFFD, and zero bytes: the database would
   * be sent another text than is written.
   */
  #checkEncoding(): void {
    const at = this.file.text.search(/[\ufffd\0]/);
    if (at < 0) return;
    const what = this.file.text[at] === "\0" ? "a zero byte" : "a byte that is not UTF-8";
    this.#report.addAt(BAD_HEADER.notText({ what }), at, at + 1);
  }

  #checkHeader(): void {
    const problem = this.#header.problems[0];
    if (problem) {
      const newline = this.file.text.indexOf("\n", problem.start);
      const end = Math.max(Math.min(problem.end, newline < 0 ? problem.end : newline), problem.start + 1);
      const { message } = problem;
      this.#report.addAt(BAD_HEADER.notYaml({ problem: `${message.charAt(0).toLowerCase()}${message.slice(1)}` }), problem.start, end);
    }
    for (const { key, known, keyStart, keyEnd } of this.#header.entries) {
      if (known) continue;
      if (isPartitionedBy(key)) {
        this.#report.addAt(BAD_PARTITIONED_BY.ofStatement(), keyStart, keyEnd);
        continue;
      }
      const near = didYouMean(key, HEADER_KEYS) || `the keys are ${HEADER_KEYS.join(", ")}`;
      this.#report.addAt(BAD_HEADER.unknownKey({ key, near }), keyStart, keyEnd, { replacements: closestNames(key, HEADER_KEYS) });
    }
  }

  /**
   * Whether an absent key is worth a finding: not when the header is no YAML, nor when it is there
   * but misspelt.
   */
  #mayMiss(key: HeaderKey): boolean {
    const { problems, entries } = this.#header;
    return problems.length === 0 && !entries.some((entry) => !entry.known && closestNames(entry.key, HEADER_KEYS).includes(key));
  }

  /** Reports that a key is absent or empty; rule 146 reports bad values. */
  #missing(key: HeaderKey, meaning: string): void {
    const entry = this.#entry(key);
    if (entry && !isEmptyText(entry.value)) return;
    if (entry) {
      this.#report.addAt(MISSING_HEADER_KEY.empty({ key, meaning }), entry.keyStart, entry.keyEnd);
      return;
    }
    const { start } = this.#header;
    const first = /^\S+/.exec(this.file.text.slice(start, start + 80))?.[0].length ?? 1;
    this.#report.addAt(MISSING_HEADER_KEY.absent({ key, meaning }), start, start + first, {
      hint: `Write a line \`-- ${key}: ...\` at the top of the file.`,
    });
  }

  #resolvedClass(): FeatureSet | undefined {
    const entry = this.#entry("resolves");
    const written = this.#value("resolves");
    if (!written || !entry) {
      if (this.#mayMiss("resolves"))
        this.#missing("resolves", "the feature class that its columns belong to, for example `-- resolves: User`");
      return undefined;
    }
    const { start, end } = entry.value;
    if (/@\d+$/.test(written)) {
      this.#report.addAt(UNKNOWN_CLASS.versioned({ written }), start, end);
      return undefined;
    }
    const set = this.index.set(written);
    if (!set && this.completeness.allClasses) {
      const names = [...this.index.sets.values()].map((known) => known.className).sort();
      const candidates = /[A-Z]/.test(written) ? names : [...this.index.sets.keys()];
      const problem = UNKNOWN_CLASS.noSuchClass({ written, near: didYouMean(written, candidates) || listOf(names) });
      this.#report.addAt(problem, start, end, { replacements: closestNames(written, candidates) });
    }
    return set;
  }
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return "the project defines none";
  return `there ${names.length === 1 ? "is" : "are"} ${names.slice(0, 5).join(", ")}${names.length > 5 ? " and others" : ""}`;
}
