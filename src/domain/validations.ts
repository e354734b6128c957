/** Validations: rules that values of a feature keep to beside their type. */

import type { ScalarFeature, Validation } from "../../gen/svc/v1/graph_pb.ts";
import { type DataType, PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { fromProtoValue } from "./proto-value.ts";
import {
  type Coercer,
  describeBare,
  describeValue,
  encodeStored,
  type FeatureValue,
  primitiveOf,
  TypeMismatch,
  typeName,
} from "./value.ts";

/** The first rule that a value breaks, as it is written: `min=0`; undefined = it keeps to all. */
export type RuleCheck = (value: FeatureValue) => string | undefined;

/** The error of a value that breaks a strict rule. */
export class BrokenRule extends TypeMismatch {}

/** A value, as a worker sends it, that breaks a strict rule: a function of the project. */
export class CheckedValue {
  constructor(
    readonly value: FeatureValue,
    /** The rule as it is written: `check=is_even`. */
    readonly rule: string,
  ) {}
}

/** Whether functions of the project are asked about values of a feature, whose word is strict. */
export function hasStrictCheck({ validations }: Pick<ScalarFeature, "validations">): boolean {
  return validations.some(({ check, strict }) => strict && check !== "");
}

/** The rules of a validation as they are written: `min=0, max=100`. */
function validationText(validation: Validation): string {
  const own = validation.check === "" ? [] : [`check=${validation.check}`];
  return [...rulesOf(validation).map(({ text }) => text), ...own].join(", ");
}

/** All validations of a feature in words: `min=0, max=100 (strict); max_length=3`. */
export function validationsText(validations: readonly Validation[]): string {
  return validations.map((one) => `${validationText(one)}${one.strict ? " (strict)" : ""}`).join("; ");
}

/**
 * The check of a feature's strict rules, or of the others; undefined when it has none. Values are
 * of the feature's type and not null.
 */
export function compileRules(
  { dtype, validations }: Pick<ScalarFeature, "dtype" | "validations">,
  isStrict: boolean,
): RuleCheck | undefined {
  if (!dtype) return undefined;
  const rules = validations.flatMap((one) => (one.strict === isStrict ? rulesOf(one).map((rule) => compileRule(rule, dtype)) : []));
  if (rules.length === 0) return undefined;
  return (value) => {
    for (const { keeps, text } of rules) if (!keeps(value)) return text;
    return undefined;
  };
}

/**
 * A conversion whose values keep to rules: others are a BrokenRule.
 * @param takesChecked whether values may be a CheckedValue
 */
export function withRules(coerce: Coercer, check: RuleCheck | undefined, dtype: DataType, takesChecked = false): Coercer {
  if (!check && !takesChecked) return coerce;
  const wanted = typeName(dtype);
  return (given) => {
    const isChecked = given instanceof CheckedValue;
    const value = coerce(isChecked ? given.value : given);
    const broken = check?.(value) ?? (isChecked ? given.rule : undefined);
    if (broken !== undefined) throw new BrokenRule(`${wanted} with ${broken}`, describeValue(value));
    return value;
  };
}

/** A rule and its bound. */
interface Rule {
  readonly name: "min" | "max" | "min_length" | "max_length" | "contains";
  readonly bound: FeatureValue;
  /** As it is written: `min=0`. */
  readonly text: string;
}

function rulesOf({ min, max, minLength, maxLength, contains }: Validation): Rule[] {
  const bounds = {
    min,
    max,
    min_length: minLength === undefined ? undefined : Number(minLength),
    max_length: maxLength === undefined ? undefined : Number(maxLength),
    contains: contains && fromProtoValue(contains),
  };
  return Object.entries(bounds).flatMap(([name, bound]) =>
    bound === undefined ? [] : [{ name: name as Rule["name"], bound, text: `${name}=${describeBare(exact(bound))}` }],
  );
}

/** An integer beyond 2^53 with all of its digits. */
function exact(bound: FeatureValue): FeatureValue {
  return Number.isInteger(bound) && !Number.isSafeInteger(bound) ? BigInt(bound as number) : bound;
}

function compileRule(
  { name, bound, text }: Rule,
  dtype: DataType,
): { readonly keeps: (value: FeatureValue) => boolean; readonly text: string } {
  switch (name) {
    case "min":
      return { text, keeps: (value) => (numberOf(value, dtype) as number) >= (bound as number) };
    case "max":
      return { text, keeps: (value) => (numberOf(value, dtype) as number) <= (bound as number) };
    case "min_length":
      return { text, keeps: (value) => lengthOf(value) >= (bound as number) };
    case "max_length":
      return { text, keeps: (value) => lengthOf(value) <= (bound as number) };
    case "contains": {
      const wanted = encodeStored(bound);
      const isIn = (value: FeatureValue) =>
        typeof value === "string"
          ? value.includes(bound as string)
          : Array.isArray(value) && value.some((item) => encodeStored(item) === wanted);
      return { text, keeps: isIn };
    }
  }
}

/** A number to compare. Integers beyond 2^53 stay exact; decimals have the digits of a float. */
function numberOf(value: FeatureValue, dtype: DataType): number | bigint {
  return primitiveOf(dtype) === PrimitiveType.DECIMAL ? Number(value) : (value as number | bigint);
}

/** Characters of a text, as Python counts them; bytes, or items. */
function lengthOf(value: FeatureValue): number {
  if (typeof value !== "string") return (value as Uint8Array | FeatureValue[]).length;
  let length = value.length;
  for (let at = 0; at < value.length - 1; at++) {
    const code = value.charCodeAt(at);
    if (code >= 0xd800 && code < 0xdc00 && isLow(value.charCodeAt(at + 1))) {
      length--;
      at++;
    }
  }
  return length;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}
