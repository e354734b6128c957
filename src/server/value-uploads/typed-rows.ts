/**
 * The rows of an upload as the stores take them: values of the features' types, keys and times.
 * Every row is looked at, and everything that is wrong is told with its row and column.
 */

import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { canonicalInstant, formatTimestamp, parseInstant } from "../../domain/timestamp.ts";
import { describeValue, type FeatureValue, primitiveOf } from "../../domain/value.ts";
import type { ScalarInfo } from "../query/graph/index-types.ts";
import { BadGiven, givenValue } from "../query/request/given.ts";
import type { RequestInput } from "../query/request/request.ts";
import { storeKey } from "../stores/online/store.ts";
import { MOST_PROBLEMS, type PlannedFeature, type UploadPlan, type UploadProblem } from "./upload-plan.ts";

/** Rows as they came, in columns of the same length. */
export interface RawRows {
  readonly rows: number;
  readonly columns: readonly (readonly unknown[])[];
  /** Number of rows of the upload that came before. */
  readonly offset: number;
}

/** How values came: as plain text, or as values of JSON or of a typed table. */
export type RawForm = Exclude<RequestInput["form"], "text">;

/** The times of rows that no column has, epoch milliseconds. */
export interface UploadTimes {
  /** When the rows were observed. */
  readonly time: number;
  /** When they were known; null = when they are stored. */
  readonly knownAt: number | null;
  /** The present: nothing was observed or known later. */
  readonly now: number;
}

/** Rows of one class; keys and times belong to all columns. */
export interface TypedRows {
  readonly namespace: string;
  /** Type-tagged keys, see `storeKey`. */
  readonly keys: readonly string[];
  readonly observedAt: readonly number[];
  readonly knownAt: readonly number[] | undefined;
  readonly columns: readonly (PlannedFeature & { readonly values: readonly FeatureValue[] })[];
}

/** Tolerance, in milliseconds, for times ahead of the clock: clocks differ by this much. */
const CLOCK_TOLERANCE_MS = 1_000;

/** The problems of an upload, as many as are told. */
export class Problems {
  readonly found: UploadProblem[] = [];

  /** Whether no more are told, so that nothing more needs to be looked at. */
  get isFull(): boolean {
    return this.found.length >= MOST_PROBLEMS;
  }

  add(problem: UploadProblem): void {
    if (!this.isFull) this.found.push(problem);
  }
}

/** The rows of all classes; those with problems are not to be stored. */
export function typedRows(plan: UploadPlan, raw: RawRows, form: RawForm, times: UploadTimes, problems: Problems): TypedRows[] {
  const columnOf = (position: number): readonly unknown[] => raw.columns[position] ?? [];
  const nameOf = (position: number): string => plan.columns[position] as string;
  const instants = new Map<number, readonly number[]>();
  const timesOf = (position: number): readonly number[] => {
    const known = instants.get(position) ?? instantsOf(columnOf(position), nameOf(position), raw.offset, times.now, problems);
    instants.set(position, known);
    return known;
  };
  const constant = (time: number): readonly number[] => new Array<number>(raw.rows).fill(time);
  const knownAt = plan.knownAt !== undefined ? timesOf(plan.knownAt) : times.knownAt === null ? undefined : constant(times.knownAt);
  return plan.rows.map(({ namespace, key, features, time }) => ({
    namespace,
    keys: keysOf(key.feature, columnOf(key.column), nameOf(key.column), form, raw.offset, problems),
    observedAt: time === undefined ? constant(times.time) : timesOf(time),
    knownAt,
    columns: features.map((one) => ({
      ...one,
      values: valuesOf(one.feature, columnOf(one.column), nameOf(one.column), form, raw.offset, problems),
    })),
  }));
}

function valuesOf(
  feature: ScalarInfo,
  given: readonly unknown[],
  column: string,
  form: RawForm,
  offset: number,
  problems: Problems,
): FeatureValue[] {
  const values = new Array<FeatureValue>(given.length);
  for (let row = 0; row < given.length; row++) values[row] = typedValue(feature, given[row], column, form, offset + row + 1, problems);
  return values;
}

function typedValue(feature: ScalarInfo, value: unknown, column: string, form: RawForm, row: number, problems: Problems): FeatureValue {
  try {
    const isJsonText = form === "raw" && primitiveOf(feature.dtype) === PrimitiveType.JSON;
    return givenValue(feature, "", { name: column, form: isJsonText ? "text" : form, value });
  } catch (error) {
    if (!(error instanceof BadGiven)) throw error;
    problems.add({ row, column, message: error.message.replace(/^: /, "") });
    return null;
  }
}

function keysOf(
  feature: ScalarInfo,
  given: readonly unknown[],
  column: string,
  form: RawForm,
  offset: number,
  problems: Problems,
): string[] {
  const keys = new Array<string>(given.length);
  for (let row = 0; row < given.length; row++) {
    const value = given[row];
    const isEmpty = value === null || value === undefined || value === "";
    if (isEmpty) problems.add({ row: offset + row + 1, column, message: "the row has no key" });
    keys[row] = isEmpty ? "" : storeKey(typedValue(feature, value, column, form, offset + row + 1, problems));
  }
  return keys;
}

/** Epoch milliseconds, with their fraction, of a column of times. */
function instantsOf(given: readonly unknown[], column: string, offset: number, now: number, problems: Problems): number[] {
  const latest = now + CLOCK_TOLERANCE_MS;
  return given.map((value, at) => {
    const canonical = typeof value === "string" ? canonicalMs(value) : undefined;
    if (canonical !== undefined && canonical <= latest) return canonical;
    const instant = typeof value === "string" ? parseInstant(value) : undefined;
    const ms = instant ? Number(instant.micros) / 1_000 : 0;
    const message =
      value === null || value === undefined
        ? "the row has no time"
        : !instant
          ? `expected an ISO 8601 time with a zone such as 2024-05-01T12:00:00Z, got ${describeValue(value)}`
          : !instant.zoned
            ? `${describeValue(value)} has no zone: write it with one, for example with Z for UTC`
            : ms > latest
              ? `${describeValue(value)} lies in the future: it is ${formatTimestamp(now)} now`
              : undefined;
    if (message !== undefined) problems.add({ row: offset + at + 1, column, message });
    return ms;
  });
}

/**
 * Epoch milliseconds of a time as tables have it, `2024-05-01T12:00:00.123456Z`; undefined for
 * other text, which takes longer to read, and for a time that does not exist.
 */
function canonicalMs(text: string): number | undefined {
  if (text.length !== 27 || canonicalInstant(text) !== text) return undefined;
  const digit = (at: number): number => text.charCodeAt(at) - 48;
  const two = (at: number): number => digit(at) * 10 + digit(at + 1);
  const year = two(0) * 100 + two(2);
  // `Date.UTC` takes these for years of the twentieth century.
  if (year < 100) return undefined;
  const ms = Date.UTC(year, two(5) - 1, two(8), two(11), two(14), two(17), two(20) * 10 + digit(22));
  return ms + (two(23) * 10 + digit(25)) / 1_000;
}
