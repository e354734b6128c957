/** Arithmetic operators: `+ - * / // % **` and negation. */

import { addDecimal, mulDecimal, negDecimal } from "../decimal.ts";
import { defineFamily, type Int } from "../definition.ts";
import { divFloat, floordivFloat, modFloat, powFloat } from "../float.ts";
import { addDays, daysBetween, microsOf, textOfMicros } from "../instant.ts";
import { addInt, divInt, floordivInt, modInt, mulInt, negInt, powInt, subInt } from "../integer.ts";
import { addLength, checkedLength, daysOf, lengthOfDays, negLength, scaleLength, timesLength } from "../length.ts";

const shift = (at: string, delta: Int): string => textOfMicros(microsOf(at) + BigInt(delta));
const concatLists = (a: never[], b: never[]) => [...a, ...b];

/** Operators on numbers, and `+ -` on text, lists and times. */
export const ARITHMETIC = defineFamily("arithmetic", {
  add: {
    doc: "The sum; text and lists are put one behind the other, and a length of time moves an instant or a date. An int beyond 64 bits is an error.",
    example: "_.subtotal + _.tax",
    parameters: ["left", "right"],
    overloads: [
      ["int, int -> int", addInt],
      ["float, float -> float", (a: number, b: number) => a + b],
      ["decimal, decimal -> decimal", addDecimal],
      ["str, str -> str", (a: string, b: string) => a + b],
      ["datetime, timedelta -> datetime", shift],
      ["timedelta, datetime -> datetime", (delta: Int, at: string) => shift(at, delta)],
      ["date, timedelta -> date", (day: string, delta: Int) => addDays(day, daysOf(delta))],
      ["timedelta, timedelta -> timedelta", addLength],
      ["list[T], list[T] -> list[T]", concatLists],
    ],
  },
  sub: {
    doc: "The difference; of two instants or dates it is the length of time between them.",
    example: "_.total - _.tax",
    parameters: ["left", "right"],
    overloads: [
      ["int, int -> int", subInt],
      ["float, float -> float", (a: number, b: number) => a - b],
      ["decimal, decimal -> decimal", (a: string, b: string) => addDecimal(a, negDecimal(b))],
      ["datetime, datetime -> timedelta", (a: string, b: string) => checkedLength(microsOf(a) - microsOf(b))],
      ["datetime, timedelta -> datetime", (at: string, delta: Int) => shift(at, negLength(delta))],
      ["date, date -> timedelta", (a: string, b: string) => lengthOfDays(daysBetween(b, a))],
      ["date, timedelta -> date", (day: string, delta: Int) => addDays(day, -daysOf(delta))],
      ["timedelta, timedelta -> timedelta", (a: Int, b: Int) => addLength(a, negLength(b))],
    ],
  },
  mul: {
    doc: "The product.",
    example: "_.price * _.count",
    parameters: ["left", "right"],
    overloads: [
      ["int, int -> int", mulInt],
      ["float, float -> float", (a: number, b: number) => a * b],
      ["decimal, decimal -> decimal", mulDecimal],
      ["timedelta, int -> timedelta", timesLength],
      ["int, timedelta -> timedelta", (a: Int, b: Int) => timesLength(b, a)],
      ["timedelta, float -> timedelta", (a: Int, b: number) => scaleLength(a, b, "mul")],
      ["float, timedelta -> timedelta", (a: number, b: Int) => scaleLength(b, a, "mul")],
    ],
  },
  div: {
    doc: "The quotient as a float, of ints too; of a length of time and a number a length of time. Division by zero is an error of the row.",
    example: "_.fails / _.tries",
    parameters: ["left", "right"],
    overloads: [
      ["int, int -> float", divInt],
      ["float, float -> float", divFloat],
      ["timedelta, timedelta -> float", divInt],
      ["timedelta, float -> timedelta", (a: Int, b: number) => scaleLength(a, b, "div")],
    ],
  },
  floordiv: {
    doc: "The quotient rounded towards minus infinity. Division by zero is an error of the row.",
    example: "_.seconds // 60",
    parameters: ["left", "right"],
    overloads: [
      ["int, int -> int", floordivInt],
      ["float, float -> float", floordivFloat],
    ],
  },
  mod: {
    doc: "The rest of `//`, with the sign of the divisor. Division by zero is an error of the row.",
    example: "_.seconds % 60",
    parameters: ["left", "right"],
    overloads: [
      ["int, int -> int", modInt as (a: Int, b: Int) => Int],
      ["float, float -> float", modFloat],
    ],
  },
  pow: {
    doc: "The power. Of two ints it is an int, and a negative exponent is an error; so is a power that is not a real number.",
    example: "_.side ** 2",
    parameters: ["base", "exponent"],
    overloads: [
      ["int, int -> int", powInt],
      ["float, float -> float", powFloat],
    ],
  },
  neg: {
    doc: "The negated number.",
    example: "-_.balance",
    parameters: ["value"],
    overloads: [
      ["int -> int", negInt],
      ["float -> float", (a: number) => -a],
      ["decimal -> decimal", negDecimal],
      ["timedelta -> timedelta", negLength],
    ],
  },
});
