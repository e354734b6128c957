/**
 * Mapping between records and rows: statements and decoding are derived from one declaration of the
 * fields' columns.
 */

/** A value as SQLite stores it. */
export type Stored = string | number | bigint | boolean | Uint8Array | null;

/** The conversion between a field and its column. */
export interface Column<T> {
  encode(value: T): Stored;
  decode(stored: unknown): T;
}

/** A record type's columns, by field. A field `createdAt` has the column `created_at`. */
export type Columns<R> = { readonly [Field in keyof R]-?: Column<R[Field]> };

/** The rows of one record type. */
export interface RowCodec<R> {
  /** Names of the columns, separated by commas. */
  readonly columns: string;
  /** An insert of all fields, with named parameters. */
  readonly insert: string;
  /** The parameters of `insert`. */
  parameters(record: R): Record<string, Stored>;
  /**
   * Assignments of an update (`state = $state, ...`) and their parameters. Absent fields stay as
   * they are; undefined ones become null.
   */
  assignments(patch: Partial<R>): { readonly sql: string; readonly parameters: Record<string, Stored> };
  /** The record of a row of `select *`; columns without a field are left out. */
  record(row: object): R;
}

/** Makes the codec of a table. */
export function rowCodec<R extends object>(table: string, columns: Columns<R>): RowCodec<R> {
  const fields = (Object.keys(columns) as (keyof R & string)[]).map((field) => ({
    field,
    name: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    column: columns[field],
  }));
  const names = fields.map(({ name }) => name);
  return {
    columns: names.join(", "),
    insert: `insert into ${table} (${names.join(", ")}) values (${names.map((name) => `$${name}`).join(", ")})`,
    parameters: (record) => Object.fromEntries(fields.map(({ field, name, column }) => [name, column.encode(record[field])])),
    assignments(patch) {
      const set = fields.filter(({ field }) => Object.hasOwn(patch, field));
      return {
        sql: set.map(({ name }) => `${name} = $${name}`).join(", "),
        parameters: Object.fromEntries(set.map(({ field, name, column }) => [name, column.encode(patch[field] as R[typeof field])])),
      };
    },
    record: (row) =>
      Object.fromEntries(fields.map(({ field, name, column }) => [field, column.decode((row as Record<string, unknown>)[name])])) as R,
  };
}

/** Text as it is. */
export const text: Column<string> = { encode: (value) => value, decode: (stored) => stored as string };

/** A whole number as it is. */
export const integer: Column<number> = { encode: (value) => value, decode: (stored) => stored as number };

/** A number that may have a fraction, or be beyond whole ones, as it is. */
export const real: Column<number> = { encode: (value) => value, decode: (stored) => stored as number };

/** A boolean as 1 or 0. */
export const flag: Column<boolean> = { encode: Number, decode: (stored) => stored === 1 };

/** Bytes as they are. */
export const bytes: Column<Uint8Array> = { encode: (value) => value, decode: (stored) => stored as Uint8Array };

/** Text that is one of a few words. */
export function oneOf<T extends string>(): Column<T> {
  return { encode: (value) => value, decode: (stored) => stored as T };
}

/** A value as JSON text. */
export function json<T>(): Column<T> {
  return { encode: (value) => JSON.stringify(value), decode: (stored) => JSON.parse(stored as string) as T };
}

/** A field that may be undefined, stored as null. */
export function optional<T>(column: Column<T>): Column<T | undefined> {
  return {
    encode: (value) => (value === undefined ? null : column.encode(value)),
    decode: (stored) => (stored === null ? undefined : column.decode(stored)),
  };
}
