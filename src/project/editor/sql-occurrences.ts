/**
 * Occurrences of classes and features in a SQL file: in its header, its placeholders and its
 * columns.
 */

import type { GraphIndex } from "../../domain/graph-index.ts";
import { featureOfColumn } from "../../domain/sql/columns.ts";
import { dialectOf } from "../../domain/sql/dialect.ts";
import { type HeaderKey, readHeader } from "../../domain/sql/header.ts";
import { type SelectItem, selectList } from "../../domain/sql/select-list.ts";
import { readSettings } from "../../domain/sql/settings.ts";
import { identifierName, type SqlDialect, SqlScanner } from "../../domain/sql/tokenize.ts";
import { scalarText, type YamlNode } from "../../domain/yaml-tree.ts";
import type { ClassModel } from "../lint/project-model.ts";
import { type Occurrence, type ProjectSymbol, pathOccurrences, type SymbolIndex } from "./symbol.ts";

/** Identifiers and dots before the name of a column: `t.`, `"Users".`. */
const QUALIFIERS = /^(?:(?:[\w$\u0080-\uffff]+|"[^"]*"|`[^`]*`|\[[^\]]*\])\s*\.\s*)*$/;
/** A longer item is not the name of a column. */
const LONGEST_COLUMN = 500;
/** Words that end an `order by`. */
const CLAUSES = new Set(["select", "from", "where", "group", "having", "limit", "union"]);

/** The occurrences in one file. `graph` is that of the same text as the index. */
export function sqlOccurrences(
  index: SymbolIndex,
  graph: GraphIndex,
  file: { readonly path: string; readonly text: string },
): Occurrence[] {
  return new SqlReader(index, graph, file.path, file.text).read();
}

class SqlReader {
  readonly #found: Occurrence[] = [];
  readonly #header: ReturnType<typeof readHeader>;
  readonly #dialect: SqlDialect | undefined;

  constructor(
    readonly index: SymbolIndex,
    readonly graph: GraphIndex,
    readonly path: string,
    readonly text: string,
  ) {
    this.#header = readHeader(text);
    this.#dialect = dialectOf(scalarText(this.#entry("source"))?.trim() ?? "", graph.graph);
  }

  read(): Occurrence[] {
    this.#placeholders();
    const entry = this.#entry("resolves");
    const written = scalarText(entry)?.trim() ?? "";
    const root = this.#root(written);
    if (entry && root) {
      this.#emit(this.index.ofClass(root.owner), this.#offsetIn(entry.start, entry.end, written), written, { nameKind: root.nameKind });
      this.#columns(root.owner);
    }
    return this.#found;
  }

  #entry(key: HeaderKey): YamlNode | undefined {
    return this.#header.entries.find(({ known }) => known === key)?.value;
  }

  /** Offset of a text between two offsets. */
  #offsetIn(start: number, end: number, written: string): number {
    return start + Math.max(0, this.text.slice(start, end).indexOf(written));
  }

  #emit(symbol: ProjectSymbol, from: number, written: string, more: Pick<Occurrence, "nameKind"> & Partial<Occurrence>): void {
    this.#found.push({ symbol, path: this.path, from, to: from + written.length, isDefinition: false, ...more });
  }

  /** The class that a name stands for, and which of its names that is. */
  #root(name: string): { readonly owner: ClassModel; readonly nameKind: "python" | "query" } | undefined {
    const set = this.graph.set(name);
    const owner = set && this.index.classOf(set.namespace);
    return owner && { owner, nameKind: set.className === name ? "python" : "query" };
  }

  #placeholders(): void {
    const scanner = new SqlScanner(this.text, this.#dialect, this.#header.bodyStart);
    while (scanner.next()) {
      if (scanner.kind !== "placeholder" || scanner.open) continue;
      const inner = scanner.value.slice(2, -1);
      const written = inner.trim();
      const root = this.#root(written.split(".")[0] as string);
      const at = scanner.start + 2 + inner.length - inner.trimStart().length;
      this.#found.push(...((root && pathOccurrences(this.index, this.path, at, written, root)) ?? []));
    }
  }

  /**
   * Columns by the features that they fill: those of the header's `fields`, and the others by their
   * own name.
   */
  #columns(owner: ClassModel): void {
    const { bodyStart } = this.#header;
    const fields = readSettings(this.#header, () => undefined).fields ?? [];
    for (const { feature, start, end } of fields) this.#column(owner, this.#offsetIn(start, end, feature), feature);
    const mapped = new Set(fields.map(({ column }) => column.toLowerCase()));
    const { items } = selectList(this.text.slice(bodyStart), this.#dialect);
    const aliases = new Map<string, ProjectSymbol>();
    for (const item of items) {
      const { name } = item;
      if (item.star || name === undefined || mapped.has(name.toLowerCase())) continue;
      const from = this.#offsetIn(bodyStart + item.nameStart, bodyStart + item.nameEnd, name);
      const isColumn = item.derived || QUALIFIERS.test(this.text.slice(bodyStart + item.start, bodyStart + item.nameStart));
      const symbol = this.#column(owner, from, name, isColumn ? bodyStart + item.end : undefined);
      if (symbol && !isColumn && !this.#aliasesItself(item)) aliases.set(name.toLowerCase(), symbol);
    }
    if (aliases.size > 0) this.#uses(aliases, items);
  }

  #column(owner: ClassModel, at: number, written: string, aliasAt?: number): ProjectSymbol | undefined {
    const set = this.graph.sets.get(owner.namespace ?? "");
    const feature = set && featureOfColumn(written, set);
    const field = feature && this.index.queried(owner, feature.name);
    if (field?.name === undefined) return undefined;
    const prefix = written.startsWith(`${owner.namespace}.`) ? `${owner.namespace}.`.length : 0;
    if (prefix > 0) this.#emit(this.index.ofClass(owner), at, written.slice(0, prefix - 1), { nameKind: "query" });
    const symbol = this.index.ofFeature(owner, field);
    const name = written.slice(prefix, prefix + field.name.length);
    this.#emit(symbol, at + prefix, name, { nameKind: "query", isColumn: true, ...(aliasAt === undefined ? {} : { aliasAt }) });
    return symbol;
  }

  /**
   * Whether an item is `t.amount as amount`, so that the name stands for the same value wherever it
   * is.
   */
  #aliasesItself({ start, nameStart, name = "" }: SelectItem): boolean {
    if (nameStart - start > LONGEST_COLUMN) return false;
    const written = this.text.slice(this.#header.bodyStart + start, this.#header.bodyStart + nameStart);
    const before = written.trimEnd().replace(/\sas$/i, "").trimEnd();
    const last = /(?:"[^"]*"|`[^`]*`|\[[^\]]*\]|[\w$\u0080-\uffff]+)$/.exec(before);
    return last !== null && identifierName(last[0]).toLowerCase() === name.toLowerCase() && QUALIFIERS.test(before.slice(0, last.index));
  }

  /**
   * Adds the names of the select list that the rest of the query uses: certain ones in `order by`,
   * uncertain ones in `group by` and conditions.
   */
  #uses(aliases: ReadonlyMap<string, ProjectSymbol>, items: readonly SelectItem[]): void {
    const { bodyStart } = this.#header;
    const [start, end] = [items[0]?.start ?? 0, items.at(-1)?.end ?? 0];
    const scanner = new SqlScanner(this.text, this.#dialect, bodyStart);
    let before = "";
    let inOrder = false;
    let candidate: { symbol: ProjectSymbol; from: number; written: string; isTerm: boolean } | undefined;
    const settle = (next: string): void => {
      if (!candidate || next === "(" || next === ".") return;
      const isTerm = candidate.isTerm && /^(?:|[,;)]|asc|desc|nulls|limit|offset|fetch)$/.test(next);
      this.#emit(candidate.symbol, candidate.from, candidate.written, { nameKind: "query", isUncertain: !isTerm });
    };
    while (scanner.nextSignificant()) {
      const word = scanner.kind === "word" || scanner.kind === "punctuation" ? scanner.value.toLowerCase() : "";
      settle(word);
      candidate = undefined;
      const isName = scanner.kind === "word" || scanner.kind === "quoted";
      const isListed = scanner.start >= bodyStart + start && scanner.start < bodyStart + end;
      if (word === "by") inOrder = before === "order";
      else if (CLAUSES.has(word)) inOrder = false;
      const written = isName ? identifierName(scanner.value) : "";
      const symbol = isListed || before === "." || before === "as" ? undefined : aliases.get(written.toLowerCase());
      if (symbol) {
        const from = this.#offsetIn(scanner.start, scanner.end, written);
        candidate = { symbol, from, written, isTerm: inOrder && (before === "by" || before === ",") };
      }
      before = word;
    }
    settle("");
  }
}
