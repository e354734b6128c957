/**
 * Functions of a project run by Python alone: no SDK, no worker, no engine, nothing between the
 * interpreter and what it returns.
 */

import { anyPython } from "../python/project.ts";
import { CONSTANTS, type RandomFunction } from "./random-functions.ts";
import { type Kind, PARAMETERS } from "./random-values.ts";

/**
 * What came of a call: the exception, the value of every output by the type that Python says it
 * has, or nothing where a parameter would have been None.
 */
export type PlainResult =
  | { readonly raised: readonly [kind: string, message: string] }
  | { readonly outputs: readonly (readonly [type: string, text: string])[] }
  | { readonly notCalled: true };

/**
 * Reads a call's arguments, calls, and says of what type every result is. Stand-ins for the names
 * of the SDK make the text of a project run as it is.
 */
const PROGRAM = `
import json, math, sys
from datetime import datetime
from math import floor

class Named(type):
    def __getattr__(cls, name):
        return name

class Row(metaclass=Named):
    def __init__(self, **given):
        self.given = given

class Optional:
    def __class_getitem__(cls, name):
        return (name,)

class Features:
    def __class_getitem__(cls, names):
        return names

def online(function):
    return function

READ = {
    "int": int,
    "float": float,
    "str": str,
    "bool": lambda text: text == "true",
    "datetime": lambda text: datetime.fromisoformat(text.replace("Z", "+00:00")),
}

def shown(value):
    kind = type(value).__name__
    return [kind, repr(value) if kind in ("int", "float", "bool") else value if kind == "str" else ""]

def called(function, outputs, row):
    wanted = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    if any(row[name] is None and not isinstance(kind, tuple) for name, kind in wanted.items()):
        return {"notCalled": True}
    try:
        result = function(**{name: row[name] for name in wanted})
    except Exception as error:
        return {"raised": [type(error).__name__, str(error)]}
    if isinstance(result, Row):
        values = [result.given.get(name) for name in outputs]
    elif isinstance(result, tuple):
        values = list(result)
    else:
        values = [result] if len(outputs) == 1 or result is not None else [None] * len(outputs)
    return {"outputs": [shown(value) for value in values]}

sent = json.load(sys.stdin)
exec(compile(sent["module"], "rows.py", "exec"))
rows = [
    {name: None if text is None else READ[sent["kinds"][name]](text) for name, text in row.items()}
    for row in sent["rows"]
]
json.dump([[called(globals()[name], outputs, row) for row in rows] for name, outputs in sent["functions"]], sys.stdout)
`;

/**
 * The results of functions for rows of parameters, in the order of both; values are as thin clients
 * send them.
 */
export async function plainPython(
  functions: readonly RandomFunction[],
  columns: Readonly<Record<string, readonly unknown[]>>,
  rows: number,
): Promise<PlainResult[][]> {
  const written = (value: unknown, kind: Kind) =>
    value === null || value === undefined ? null : kind === "float" && Object.is(value, -0) ? "-0.0" : String(value);
  const sent = {
    module: [...CONSTANTS, ...functions.map(({ text }) => text)].join("\n\n"),
    kinds: PARAMETERS,
    functions: functions.map(({ name, outputs }) => [name, outputs.map(([output]) => output)]),
    rows: Array.from({ length: rows }, (_, row) =>
      Object.fromEntries(Object.entries(PARAMETERS).map(([name, kind]) => [name, written(columns[`row.${name}`]?.[row], kind)])),
    ),
  };
  const child = Bun.spawnSync([(await anyPython()) as string, "-I", "-X", "utf8", "-c", PROGRAM], {
    stdin: Buffer.from(JSON.stringify(sent)),
  });
  if (child.exitCode !== 0) throw new Error(child.stderr.toString());
  return JSON.parse(child.stdout.toString());
}
