/** Output columns of a SQL file and the features that they fill (rules 149, 152, 153, 157, 158). */

import { create } from "@bufbuild/protobuf";
import { type FeatureSet, type SqlColumn, SqlColumnSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { closestNames, didYouMean } from "../closest.ts";
import { ROWS_WITHOUT_KEY } from "../rules/resolvers.ts";
import { BAD_HEADER, BAD_SELECT_LIST, STAR_COLUMNS } from "../rules/sql-files.ts";
import { entryOf, type YamlNode } from "../yaml-tree.ts";
import { featureOfColumn, noSuchOutput } from "./columns.ts";
import type { FileReport } from "./file-report.ts";
import type { Completeness } from "./link-input.ts";
import type { SelectItem, SelectList } from "./select-list.ts";
import type { SqlSettings } from "./settings.ts";

/** A reader of one file's output columns. */
export class ColumnReader {
  readonly #columns: SqlColumn[] = [];
  readonly #first = new Map<string, SelectItem>();
  readonly #mapped = new Set<string>();

  constructor(
    readonly report: FileReport,
    readonly completeness: Completeness,
    readonly list: SelectList,
    readonly fields: NonNullable<SqlSettings["fields"]>,
    /** Column that need not fill a feature: that of incremental runs; undefined = none. */
    readonly spare: string | undefined,
  ) {}

  /** Whether the file is one query, of which columns can be read; a finding is added otherwise. */
  checkStatement(): boolean {
    const { list, report } = this;
    const indent = report.body.length - report.body.trimStart().length;
    if (list.verb === "") {
      const first = /\S.*/.exec(report.lines.text.slice(0, 500));
      const start = first?.index ?? 0;
      report.addAt(BAD_SELECT_LIST.noQuery(), start, start + (first?.[0].trimEnd().length ?? 0));
      return false;
    }
    if (list.verb !== "select") {
      report.addInBody(BAD_SELECT_LIST.otherStatement({ verb: list.verb }), indent, indent + list.verb.length);
      return false;
    }
    if (list.secondStatement !== undefined) {
      const start = list.secondStatement;
      report.addInBody(BAD_SELECT_LIST.secondStatement(), start, start + 1);
    }
    if (list.star) {
      const star = list.items.find((item) => item.star);
      report.addInBody(STAR_COLUMNS.unchecked(), star?.start ?? indent, star?.end ?? indent + 1, {
        hint: "Name the columns to have them checked before a deployment.",
      });
    }
    return true;
  }

  /**
   * The columns that fill features of a class. `fieldsNode` is the header's `fields`, for spans.
   */
  read(set: FeatureSet, fieldsNode: YamlNode | undefined): SqlColumn[] {
    for (const item of this.list.items) if (!item.star) this.#readItem(item, set);
    this.#unmatchedFields(set, fieldsNode);
    if (this.list.items.length === 0 && !this.list.star) this.report.addInBody(BAD_SELECT_LIST.empty(), 0, 1);
    return this.#columns;
  }

  /**
   * Without a feature among the placeholders, rows are matched by the primary key, which must
   * therefore be a column.
   */
  checkKey(set: FeatureSet): void {
    const hasKey = this.#columns.some((column) => column.feature === set.primaryKey);
    if (hasKey || this.list.star || set.primaryKey === "" || this.report.hasErrors) return;
    const key = set.primaryKey.slice(set.namespace.length + 1);
    const [start, end] = [this.list.items[0]?.start ?? 0, this.list.items.at(-1)?.end ?? 1];
    const hint = `Select '${key}', or bind it: \`where ... = \${${set.primaryKey}}\`.`;
    this.report.addInBody(ROWS_WITHOUT_KEY.sqlFile({ key, owner: set.className }), start, end, { hint });
  }

  #readItem(item: SelectItem, set: FeatureSet): void {
    const { report } = this;
    const column = item.name ?? report.body.slice(item.start, Math.min(item.end, item.start + 500));
    const target = this.fields.find((field) => sameColumn(field.column, column, item.quoted));
    if (target) this.#mapped.add(target.column);
    const wanted = target?.feature ?? item.name;
    const feature = wanted === undefined ? undefined : featureOfColumn(wanted, set);
    if (feature?.kind.case !== "scalar") {
      if (!feature && !target && this.spare !== undefined && sameColumn(this.spare, column, item.quoted)) return;
      if (!this.completeness.allFeatures(set.namespace)) return;
      if (wanted === undefined || (!target && item.derived && !feature)) report.addInBody(BAD_SELECT_LIST.unnamed(), item.start, item.end);
      else if (target) report.add(noSuchOutput(wanted, set, report.span(target.start, target.end)));
      else report.add(noSuchOutput(wanted, set, report.spanInBody(item.nameStart, item.nameEnd)));
      return;
    }
    const earlier = this.#first.get(feature.fqn);
    if (earlier) {
      report.addInBody(BAD_SELECT_LIST.twice({ feature: feature.fqn }), item.nameStart, item.nameEnd, {
        related: [{ span: report.spanInBody(earlier.nameStart, earlier.nameEnd), message: "first column" }],
      });
      return;
    }
    this.#first.set(feature.fqn, item);
    this.#columns.push(create(SqlColumnSchema, { column, feature: feature.fqn, span: report.spanInBody(item.nameStart, item.nameEnd) }));
  }

  /**
   * Entries of `fields` whose column is not in the select list: with a `*` they are taken on trust.
   */
  #unmatchedFields(set: FeatureSet, node: YamlNode | undefined): void {
    const { list, report } = this;
    for (const field of this.fields) {
      if (this.#mapped.has(field.column)) continue;
      const key = node?.kind === "map" ? entryOf(node, field.column) : undefined;
      const [keyStart, keyEnd] = [key?.keyStart ?? field.start, key?.keyEnd ?? field.end];
      if (list.star) {
        const feature = featureOfColumn(field.feature, set);
        const span = report.span(keyStart, keyEnd);
        if (feature?.kind.case === "scalar")
          this.#columns.push(create(SqlColumnSchema, { column: field.column, feature: feature.fqn, span }));
        else if (this.completeness.allFeatures(set.namespace))
          report.add(noSuchOutput(field.feature, set, report.span(field.start, field.end)));
        continue;
      }
      if (list.items.some((item) => item.derived)) continue;
      const names = list.items.flatMap((item) => item.name ?? []);
      const near = didYouMean(field.column, names) || `it returns ${names.slice(0, 8).join(", ")}`;
      const problem = BAD_HEADER.noSuchColumn({ column: field.column, near });
      report.addAt(problem, keyStart, keyEnd, { replacements: closestNames(field.column, names) });
    }
  }
}

function sameColumn(field: string, column: string, quoted: boolean): boolean {
  return field === column || (!quoted && field.toLowerCase() === column.toLowerCase());
}
