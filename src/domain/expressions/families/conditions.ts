/**
 * Three-valued logic, conditionals and nulls. Arguments that do not count are not computed, so that
 * an error in them is no error of the row.
 */

import type { FeatureValue } from "../../value.ts";
import { equalValues } from "../compare.ts";
import { equalDecimal } from "../decimal.ts";
import { anyNullable, defineFamily } from "../definition.ts";
import { EvaluationError } from "../evaluation-error.ts";

type Lazy = () => FeatureValue;

/** Boolean operators: null is "unknown". */
export const BOOLEAN = defineFamily("boolean", {
  and: {
    doc: "Whether both are true: false when one is false, else null when one is null.",
    example: "_.active & (_.age >= 18)",
    parameters: ["left", "right"],
    nulls: { doc: "false with null is false, true with null is null", nullable: anyNullable },
    lazy: true,
    overloads: [
      [
        "bool, bool -> bool",
        (left: Lazy, right: Lazy) => {
          const a = left();
          if (a === false) return false;
          const b = right();
          return b === false ? false : a === null ? null : b;
        },
      ],
    ],
  },
  or: {
    doc: "Whether one is true: true when one is true, else null when one is null.",
    example: '(_.kind == "card") | _.trusted',
    parameters: ["left", "right"],
    nulls: { doc: "true with null is true, false with null is null", nullable: anyNullable },
    lazy: true,
    overloads: [
      [
        "bool, bool -> bool",
        (left: Lazy, right: Lazy) => {
          const a = left();
          if (a === true) return true;
          const b = right();
          return b === true ? true : a === null ? null : b;
        },
      ],
    ],
  },
  not: {
    doc: "Whether it is false.",
    example: "~_.active",
    parameters: ["value"],
    overloads: [["bool -> bool", (value: boolean) => !value]],
  },
  xor: {
    doc: "Whether exactly one of both is true.",
    example: "F.xor(_.by_mail, _.by_phone)",
    parameters: ["left", "right"],
    overloads: [["bool, bool -> bool", (a: boolean, b: boolean) => a !== b]],
  },
});

/** Most arguments of `when`: 32 conditions with their values, and the last value. */
const MOST_PARTS = 65;

const pick = (index: number) => (nullable: readonly boolean[]) => nullable.slice(index).includes(true);

/** Functions that choose between values. */
export const CONDITIONALS = defineFamily("conditionals", {
  if_then_else: {
    doc: "The second value when the condition is true, else the third. A null condition is not true.",
    example: "F.if_then_else(_.tries == 0, 0.0, _.fails / _.tries)",
    parameters: ["condition", "then", "otherwise"],
    nulls: { doc: "a null condition chooses the third; a chosen null is null", nullable: pick(1) },
    lazy: true,
    overloads: [["bool, T, T -> T", (condition: Lazy, then: Lazy, otherwise: Lazy) => (condition() === true ? then() : otherwise())]],
  },
  when: {
    doc: "The value behind the first condition that is true; the last argument when none is, or null when there is no last one. With a condition alone it is a chain: `.then(value)` says what is given, `.when(condition)` asks for another and `.otherwise(value)` ends it.",
    example: 'F.when(_.age < 18).then("minor").when(_.age < 65).then("adult").otherwise("senior")',
    parameters: ["condition", "then", "*more"],
    nulls: {
      doc: "a null condition is not true; a chosen null is null",
      nullable: (nullable) =>
        nullable.length % 2 === 0 || nullable.some((value, index) => value && (index % 2 === 1 || index === nullable.length - 1)),
    },
    lazy: true,
    overloads: Array.from({ length: MOST_PARTS - 1 }, (_, extra) => {
      const count = extra + 2;
      const kinds = Array.from({ length: count }, (_, index) => (index % 2 === 0 && index < count - 1 ? "bool" : "T"));
      return [`${kinds.join(", ")} -> T`, chooseFirst] as const;
    }),
  },
});

function chooseFirst(...parts: Lazy[]): FeatureValue {
  for (let index = 0; index + 1 < parts.length; index += 2) if ((parts[index] as Lazy)() === true) return (parts[index + 1] as Lazy)();
  return parts.length % 2 === 1 ? (parts.at(-1) as Lazy)() : null;
}

function recovered(value: Lazy, otherwise: Lazy): FeatureValue {
  try {
    return value();
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return otherwise();
  }
}

/** Functions that test for null, replace it or make it, and that replace errors. */
export const NULLS = defineFamily("nulls", {
  is_null: {
    doc: "Whether it is null.",
    example: "F.is_null(_.email)",
    parameters: ["value"],
    nulls: { doc: "never null", nullable: () => false },
    overloads: [["any -> bool", (value: FeatureValue) => value === null]],
  },
  is_not_null: {
    doc: "Whether it is not null.",
    example: "F.is_not_null(_.email)",
    parameters: ["value"],
    nulls: { doc: "never null", nullable: () => false },
    overloads: [["any -> bool", (value: FeatureValue) => value !== null]],
  },
  coalesce: {
    doc: "The first value that is not null.",
    example: "F.coalesce(_.nickname, _.name, 'nobody')",
    parameters: ["*values"],
    nulls: { doc: "null when all are null", nullable: (nullable) => !nullable.includes(false) },
    lazy: true,
    overloads: [
      [
        "T, T... -> T",
        (...values: Lazy[]) => {
          for (const value of values) {
            const taken = value();
            if (taken !== null) return taken;
          }
          return null;
        },
      ],
    ],
  },
  if_null: {
    doc: "The value, or the second one when it is null.",
    example: "F.if_null(_.score, 0.0)",
    parameters: ["value", "otherwise"],
    nulls: { doc: "null when both are null", nullable: (nullable) => !nullable.includes(false) },
    lazy: true,
    overloads: [["T, T -> T", (value: Lazy, otherwise: Lazy) => value() ?? otherwise()]],
  },
  recover: {
    doc: "The value, or the second one where computing it is an error, such as a division by zero or a text that is no number; null when there is no second one.",
    example: "F.recover(F.to_int(_.code), 0)",
    parameters: ["value", "otherwise?"],
    nulls: { doc: "a null value is null", nullable: (nullable) => nullable.length === 1 || nullable.includes(true) },
    lazy: true,
    overloads: [
      ["T -> T?", (value: Lazy) => recovered(value, () => null)],
      ["T, T -> T", recovered],
    ],
  },
  null_if: {
    doc: "Null when the value equals the second one, else the value.",
    example: "F.null_if(_.tries, 0)",
    parameters: ["value", "unwanted"],
    nulls: { doc: "a null value is null; a null second argument changes nothing", nullable: () => true },
    overloads: [
      ["decimal, decimal -> decimal", (value: FeatureValue, unwanted: FeatureValue) => (equalDecimal(value, unwanted) ? null : value)],
      ["T, T -> T", (value: FeatureValue, unwanted: FeatureValue) => (unwanted !== null && equalValues(value, unwanted) ? null : value)],
    ],
  },
});
