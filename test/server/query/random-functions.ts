/** Random Python resolvers of the kind that is translated. */

import { type Kind, PARAMETERS, pick } from "./random-values.ts";

/** Names at the top of the module. */
export const CONSTANTS = ["RATE = 1.25", "LIMIT: int = 60 * 60", 'KINDS = ("a", "abc", "😀", 3)', 'PREFIX = "a" + "b"', "HUGE = 2 ** 62"];

/** A function of the module. */
export interface RandomFunction {
  readonly name: string;
  /** Names and kinds of the features that it gives. */
  readonly outputs: readonly (readonly [name: string, kind: Kind])[];
  readonly text: string;
}

const RESULTS = ["int", "float", "str", "bool"] as const;

/** A function whose parameters are all of PARAMETERS. */
export function randomFunction(random: () => number, name: string): RandomFunction {
  return new FunctionWriter(random).write(name);
}

class FunctionWriter {
  readonly #locals: [name: string, kind: Kind][] = [];

  constructor(readonly random: () => number) {}

  write(name: string): RandomFunction {
    const several = this.random() < 0.25;
    const outputs = (several ? [0, 1, 2] : [0]).map((at) => [`${name}_${at}`, this.#pick(RESULTS)] as const);
    const parameters = Object.keys(PARAMETERS).map((one) => `${one}: ${this.random() < 0.3 ? `Optional[Row.${one}]` : `Row.${one}`}`);
    const returns = several ? `Features[${outputs.map(([output]) => `Row.${output}`).join(", ")}]` : `Row.${outputs[0]?.[0]}`;
    const body = this.#block(1, 4, outputs);
    return { name, outputs, text: [`@online`, `def ${name}(${parameters.join(", ")}) -> ${returns}:`, ...body].join("\n") };
  }

  #pick<T>(items: readonly T[]): T {
    return pick(this.random, items);
  }

  /** Lines that end in a return. */
  #block(indent: number, left: number, outputs: RandomFunction["outputs"]): string[] {
    const pad = "    ".repeat(indent);
    const outer = this.#locals.length;
    const lines: string[] = [];
    for (let at = Math.floor(this.random() * left); at > 0; at--) {
      const chance = this.random();
      if (chance < 0.45) {
        const kind = this.#pick(RESULTS);
        const text = this.#of(kind, 3);
        const name = `v${this.#locals.length}`;
        lines.push(`${pad}${name}${this.random() < 0.2 ? `: ${kind}` : ""} = ${text}`);
        this.#locals.push([name, kind]);
      } else if (chance < 0.55 && this.#locals.length > outer) {
        const [name, kind] = this.#pick(this.#locals.slice(outer));
        if (kind === "int" || kind === "float" || kind === "str") lines.push(`${pad}${name} += ${this.#of(kind, 2)}`);
      } else if (chance < 0.58) lines.push(`${pad}assert ${this.#of("bool", 2)}, f"not {i}"`);
      else if (chance < 0.8 && indent < 3) {
        lines.push(`${pad}if ${this.#of("bool", 2)}:`, ...this.#branch(indent + 1, outputs));
        if (this.random() < 0.3) lines.push(`${pad}elif ${this.#of("bool", 2)}:`, ...this.#branch(indent + 1, outputs));
        if (this.random() < 0.3) lines.push(`${pad}else:`, ...this.#branch(indent + 1, outputs));
      }
    }
    const end = this.random();
    if (end < 0.05) lines.push(`${pad}raise ValueError(f"row {i} {s!r}")`);
    else if (end < 0.08) lines.push(`${pad}pass`);
    else lines.push(`${pad}return ${this.#result(outputs)}`);
    this.#locals.length = outer;
    return lines;
  }

  /** Lines of an `if`, which may go on after it. */
  #branch(indent: number, outputs: RandomFunction["outputs"]): string[] {
    if (this.random() < 0.6 || this.#locals.length === 0) return this.#block(indent, 2, outputs);
    const [name, kind] = this.#pick(this.#locals);
    return [`${"    ".repeat(indent)}${name} = ${this.#of(kind, 2)}`];
  }

  #result(outputs: RandomFunction["outputs"]): string {
    if (this.random() < 0.04) return "None";
    const values = outputs.map(([name, kind]) => [name, this.#of(this.random() < 0.07 ? this.#pick(RESULTS) : kind, 4)] as const);
    if (outputs.length === 1) return values[0]?.[1] ?? "None";
    if (this.random() < 0.2) return values.map(([, value]) => value).join(", ");
    const given = values.filter(() => this.random() < 0.9).map(([name, value]) => `${name}=${value}`);
    return `Row(${[...(this.random() < 0.2 ? ["id=i"] : []), ...given].join(", ")})`;
  }

  /** An expression of a kind. */
  #of(kind: Kind, depth: number): string {
    if (this.random() < 0.015) return this.#of(this.#pick(RESULTS), depth - 1);
    if (depth <= 0 || this.random() < 0.12) return this.#leaf(kind);
    if (this.random() < 0.07) return `(${this.#of(kind, depth - 1)} if ${this.#of("bool", depth - 1)} else ${this.#of(kind, depth - 1)})`;
    if (this.random() < 0.04) return `(${this.#of(kind, depth - 1)} ${this.#pick(["and", "or"])} ${this.#of(kind, depth - 1)})`;
    switch (kind) {
      case "int":
        return this.#int(depth - 1);
      case "float":
        return this.#float(depth - 1);
      case "str":
        return this.#text(depth - 1);
      case "bool":
        return this.#bool(depth - 1);
      case "datetime":
        return this.#leaf(kind);
    }
  }

  #leaf(kind: Kind): string {
    const names = [...Object.entries(PARAMETERS), ...this.#locals].filter(([, one]) => one === kind).map(([name]) => name);
    if (kind === "datetime" || this.random() < 0.65) return this.#pick(names);
    switch (kind) {
      case "int":
        return this.#pick([
          "(0)",
          "(1)",
          "(2)",
          "(-1)",
          "(3)",
          "(7)",
          "(10)",
          "(1_000)",
          "LIMIT",
          "HUGE",
          `(${2n ** 53n})`,
          `(${2n ** 63n - 1n})`,
        ]);
      case "float":
        return this.#pick(["0.0", "-0.0", "0.5", "1.5", "0.1", "3.0", "1e16", "1e300", "RATE", "math.pi", "math.inf", "1e-7"]);
      case "str":
        return this.#pick(['""', '"a"', '"A b"', "'é'", '"😀"', '" "', '"1"', "PREFIX", '"aa"']);
      case "bool":
        return this.#pick(["True", "False", "b"]);
    }
  }

  #number(depth: number): string {
    return this.#of(this.#pick(["int", "float", "int", "float", "bool"]), depth);
  }

  #int(depth: number): string {
    const of = (kind: Kind) => this.#of(kind, depth);
    return this.#pick([
      () => `(${of("int")} ${this.#pick(["+", "-", "*", "//", "%"])} ${of("int")})`,
      () => `(${of("int")} ${this.#pick(["+", "-", "*", "//", "%"])} ${of("int")})`,
      () => `(${this.#leaf("int")} ** ${this.#pick(["2", "3", "0", "(j % 40)", "-1"])})`,
      () => `(${this.#pick(["-", "+"])}${of("int")})`,
      () => `abs(${of("int")})`,
      () => `${this.#pick(["min", "max"])}(${of("int")}, ${of("int")}${this.random() < 0.3 ? `, ${of("bool")}` : ""})`,
      () => `round(${this.#number(depth)})`,
      () => `int(${this.#pick([this.#number(depth), this.#number(depth), of("str")])})`,
      () => `len(${of("str")})`,
      () => `${this.#pick(["math.floor", "math.ceil", "math.trunc", "floor"])}(${this.#number(depth)})`,
      () =>
        `${this.#pick(["d", "e"])}.${this.#pick(["year", "month", "day", "hour", "minute", "second", "microsecond", "weekday()", "isoweekday()"])}`,
      () => `(d - e).${this.#pick(["days", "seconds", "microseconds"])}`,
    ])();
  }

  #float(depth: number): string {
    const of = (kind: Kind) => this.#of(kind, depth);
    return this.#pick([
      () => `(${of("float")} ${this.#pick(["+", "-", "*", "/", "//", "%"])} ${this.#number(depth)})`,
      () => `(${this.#number(depth)} ${this.#pick(["+", "-", "*", "/", "//", "%"])} ${of("float")})`,
      () => `(${of("int")} / ${of("int")})`,
      () => `(-${of("float")})`,
      () => `abs(${of("float")})`,
      () => `${this.#pick(["min", "max"])}(${of("float")}, ${this.#number(depth)})`,
      () => `round(${of("float")}, ${this.#pick(["0", "1", "2", "3", "10"])})`,
      () => `float(${this.#pick([this.#number(depth), of("str")])})`,
      () => `math.${this.#pick(["sqrt", "fabs", "degrees", "radians"])}(${this.#number(depth)})`,
      () => `math.${this.#pick(["fmod", "copysign"])}(${of("float")}, ${this.#number(depth)})`,
      () => "(e - d).total_seconds()",
    ])();
  }

  #text(depth: number): string {
    const of = (kind: Kind) => this.#of(kind, depth);
    return this.#pick([
      () => `(${of("str")} + ${of("str")})`,
      () => `${of("str")}.${this.#pick(["lower", "upper", "strip", "lstrip", "rstrip"])}()`,
      () => `${of("str")}.${this.#pick(["strip", "lstrip", "rstrip"])}(${this.#pick(['" a"', '"é"', of("str")])})`,
      () => `${of("str")}.replace(${this.#pick(['"a"', '"aa"', of("str")])}, ${of("str")})`,
      () => `${of("str")}[${this.#pick(["0", "-1", "1", of("int")])}]`,
      () => `${of("str")}[${this.#pick(["", "1", "-2", of("int")])}:${this.#pick(["", "3", "-1", of("int")])}]`,
      () => `str(${this.#pick([this.#number(depth), this.#number(depth), of("str")])})`,
      () => `f"<{${this.#shown()}}|{${this.#shown()}!s}>"`,
    ])();
  }

  /**
   * What stands in the braces of an f-string: without quotes, which older Pythons do not allow
   * there.
   */
  #shown(): string {
    return this.#pick(["i", "x", "s", "b", "x * 0.1", "i - 1", "y / 3", "x // 1", "-y", ...this.#locals.map(([name]) => name)]);
  }

  #bool(depth: number): string {
    const of = (kind: Kind) => this.#of(kind, depth);
    const comparison = () => this.#pick(["<", "<=", ">", ">=", "==", "!="]);
    return this.#pick([
      () => `(${this.#number(depth)} ${comparison()} ${this.#number(depth)})`,
      () => `(${this.#number(depth)} ${comparison()} ${this.#number(depth)} ${comparison()} ${this.#number(depth)})`,
      () => `(${of("str")} ${comparison()} ${of("str")})`,
      () => `(d ${comparison()} e)`,
      () => `(${of("bool")} ${this.#pick(["and", "or"])} ${of("bool")} ${this.#pick(["and", "or"])} ${of("bool")})`,
      () => `(not ${of(this.#pick(RESULTS))})`,
      () => `(${this.#pick([...Object.keys(PARAMETERS)])} is ${this.#pick(["", "not "])}None)`,
      () => `(b is ${this.#pick(["True", "False"])})`,
      () =>
        `(${of(this.#pick(RESULTS))} ${this.#pick(["in", "not in"])} ${this.#pick(['(1, "a", 2.5)', '{"a", "1", 3}', "KINDS", `(${of("int")}, ${of("float")})`])})`,
      () => `(${of("str")} ${this.#pick(["in", "not in"])} ${of("str")})`,
      () => `${of("str")}.${this.#pick(["startswith", "endswith"])}(${of("str")})`,
      () => `bool(${of(this.#pick(RESULTS))})`,
      () => `math.${this.#pick(["isnan", "isinf", "isfinite"])}(${this.#number(depth)})`,
      () => `((d - e).total_seconds() ${comparison()} ${of("float")})`,
    ])();
  }
}
