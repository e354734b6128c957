/** Rows of has-many relations given with a query. */

import { closestNames } from "../../../domain/closest.ts";
import { describeValue, type FeatureValue, parseExactJson } from "../../../domain/value.ts";
import type { ManyInfo, NamespaceInfo, RelationInfo, ScalarInfo } from "../graph/index-types.ts";
import type { GivenChildren, GivenColumn, GivenRow } from "../plan/plan.ts";
import { BadGiven, givenRow, givenValue } from "./given.ts";
import type { RequestInput } from "./request.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Rows as given: what each has, and the values of each by the path from the child's class. */
export interface GivenRows {
  readonly given: GivenChildren;
  readonly rows: readonly { readonly [path: string]: FeatureValue }[];
}

/**
 * Rows given as a list of objects of the child's features, or as the columns of such objects; in
 * place of a has-one relation's key each may have the other row as an object, or each null. Every
 * row must have the same features. Of no rows every feature is known. Throws BadGiven.
 */
export function givenChildren(path: string, many: ManyInfo, input: RequestInput): GivenRows {
  let { value } = input;
  if (input.form !== "typed" && typeof value === "string") {
    try {
      value = parseExactJson(value);
    } catch {
      throw new BadGiven(path, `${path}: expected a JSON list of rows of ${many.foreign.className}, got ${describeValue(value)}`);
    }
  }
  if (isColumns(value)) value = rowsOfColumns(path, value);
  if (!Array.isArray(value))
    throw new BadGiven(
      path,
      `${path}: expected a list of rows of ${many.foreign.className}, or {"columns": [names], "values": [a list for each column]}, got ${describeValue(value)}`,
    );
  if (value.length === 0) return { given: { columns: many.foreign.scalars.map(ownColumn), rows: [] }, rows: [] };
  const fields = value.map((row: unknown, at): Fields => {
    const one = givenRow(`${path}[${at}]`, many.foreign.className, { name: path, form: "typed", value: row });
    if (one === null) throw new BadGiven(path, `${path}[${at}]: expected a row of ${many.foreign.className}, got null`);
    return one;
  });
  const reader = new RowsReader(path, many, fields.length);
  reader.read(many.foreign, [], fields);
  return { given: { columns: reader.columns, rows: reader.absentOrGiven }, rows: reader.rows };
}

/** Rows by columns: for each name a list with a value per row. */
interface Columns {
  readonly columns: readonly unknown[];
  readonly values: readonly unknown[];
}

function isColumns(value: unknown): value is Columns {
  if (value === null || typeof value !== "object" || Object.keys(value).length !== 2) return false;
  const { columns, values } = value as Partial<Columns>;
  return Array.isArray(columns) && Array.isArray(values);
}

function rowsOfColumns(path: string, { columns, values }: Columns): Fields[] {
  const wrong = (why: string) => new BadGiven(path, `${path}: ${why}`);
  if (columns.length !== values.length)
    throw wrong(`expected a list of values for each column, got ${values.length} for ${columns.length} columns`);
  const [first] = values;
  const rows: Record<string, unknown>[] = Array.isArray(first) ? first.map(() => ({})) : [];
  const seen = new Set<unknown>();
  for (const [at, name] of columns.entries()) {
    const own = values[at];
    if (typeof name !== "string") throw wrong(`columns[${at}]: expected a name, got ${describeValue(name)}`);
    if (seen.size === seen.add(name).size) throw wrong(`column '${name}' is given twice`);
    if (!Array.isArray(own)) throw wrong(`values[${at}]: expected a list, got ${describeValue(own)}`);
    if (own.length !== rows.length) throw wrong(`column '${name}' has ${own.length} values, and '${columns[0]}' has ${rows.length}`);
    for (const [row, value] of own.entries()) Object.defineProperty(rows[row], name, { value, enumerable: true });
  }
  return rows;
}

/** A feature of the child's own. */
export function ownColumn(feature: ScalarInfo): GivenColumn {
  return { relations: [], feature, key: feature };
}

class RowsReader {
  readonly columns: GivenColumn[] = [];
  readonly absentOrGiven: GivenRow[] = [];
  readonly rows: { [path: string]: FeatureValue }[];

  constructor(
    readonly path: string,
    readonly many: ManyInfo,
    count: number,
  ) {
    this.rows = Array.from({ length: count }, () => ({}));
  }

  /** Reads one object of each row: the row itself, or what lies at the end of has-one relations. */
  read(namespace: NamespaceInfo, relations: readonly RelationInfo[], objects: readonly Fields[]): void {
    const before = relations.map((relation) => `${relation.name}.`).join("");
    for (const name of new Set(objects.flatMap((object) => Object.keys(object)))) {
      const member = namespace.members.get(name);
      const at = `${before}${name}`;
      const place = (row: number) => `${this.path}[${row}].${at}`;
      for (const [row, object] of objects.entries())
        if (object[name] === undefined)
          throw new BadGiven(this.path, `${place(row)} is missing, and other rows have it; give it in every row or in none`);
      if (member?.kind === "scalar") {
        this.columns.push({ relations, feature: member, key: relations.length === 0 ? member : { ...member, name: at } });
        for (const [row, object] of objects.entries()) {
          const value = givenValue(member, place(row), { name: place(row), form: "typed", value: object[name] });
          Object.assign(this.rows[row] as object, { [at]: value });
        }
      } else if (member?.kind === "has_one")
        this.#readRelation(
          member,
          [...relations, member],
          at,
          objects.map((object) => object[name]),
        );
      else if (member)
        throw new BadGiven(
          this.path,
          `${this.path}: '${at}' is a has-many relation; rows of ${this.many.fqn} are given without rows of their own`,
        );
      else {
        throw new BadGiven(this.path, `unknown feature '${this.path}.${at}' in the inputs`, () => {
          const near = closestNames(name, namespace.members.keys());
          return near.length > 0 ? `; did you mean ${near.map((one) => `'${before}${one}'`).join(", ")}?` : "";
        });
      }
    }
  }

  #readRelation(relation: RelationInfo, relations: readonly RelationInfo[], at: string, values: readonly unknown[]): void {
    const objects = values.map((value, row) =>
      givenRow(`${this.path}[${row}].${at}`, relation.foreign.className, { name: at, form: "typed", value }),
    );
    const absent = objects.indexOf(null);
    const there = objects.filter((object) => object !== null);
    if (absent >= 0 && !relation.optional)
      throw new BadGiven(
        this.path,
        `${this.path}[${absent}].${at}: expected a row of ${relation.foreign.className}, got null, and the relation is not optional`,
      );
    if (absent >= 0 && there.length > 0)
      throw new BadGiven(this.path, `${this.path}[${absent}].${at} is null, and other rows have one; give a row in each, or null in each`);
    this.absentOrGiven.push({ relations, absent: absent >= 0 });
    if (absent < 0) this.read(relation.foreign, relations, there);
  }
}
