import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { AGGREGATIONS } from "../../../src/domain/expressions/aggregations.ts";
import { FORMS } from "../../../src/domain/expressions/forms.ts";
import { FUNCTIONS } from "../../../src/domain/expressions/functions.ts";
import { PYTHON_MODULE_PATH, pythonModule, pythonName } from "../../../src/domain/expressions/python-module.ts";
import { typeName } from "../../../src/domain/value.ts";
import { INTERPRETERS } from "../../sdk/interpreters.ts";

const ROOT = join(import.meta.dir, "../../..");
const SDK = join(ROOT, "src/sdk");

/** Runs Python with the SDK on its path; its output as JSON. */
function python(code: string): unknown {
  const interpreter = INTERPRETERS[0];
  if (!interpreter) throw new Error("no supported Python is installed");
  const { stdout, stderr, exitCode } = Bun.spawnSync([interpreter.path, "-B", "-c", code], { env: { ...process.env, PYTHONPATH: SDK } });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString());
}

test("the module is what the table says; if not, run `bun src/domain/expressions/generate-python.ts`", async () => {
  expect(await Bun.file(join(ROOT, PYTHON_MODULE_PATH)).text()).toBe(pythonModule());
});

describe("in Python", () => {
  test("every function of the table is there, and makes a call of its name with its arguments", () => {
    const counts = Object.fromEntries(
      [...FUNCTIONS.values()].map(({ name, overloads }) => [
        pythonName(name),
        overloads.map(({ signature }) => signature.parameters.length),
      ]),
    );
    const made = python(`
import json
import svc.functions as F
counts = json.loads(${JSON.stringify(JSON.stringify(counts))})
made = {}
for name, sizes in counts.items():
    for size in sizes:
        call = getattr(F, name)(*range(size))
        made[f"{name} {size}"] = [call.function, [argument.value for argument in call.arguments]]
print(json.dumps([made, sorted(F.__all__)]))
`);
    const wanted = [...FUNCTIONS.values()].flatMap(({ name, overloads }) =>
      overloads.map(({ signature: { parameters } }) => [
        `${pythonName(name)} ${parameters.length}`,
        [name, parameters.map((_, index) => index)],
      ]),
    );
    expect(made).toEqual([Object.fromEntries(wanted), [...[...FUNCTIONS.keys()].map(pythonName), ...FORMS.keys()].sort()]);
  });

  test("every function takes its arguments by the names that its documentation prints, in any order", () => {
    const parameters = Object.fromEntries(
      [...FUNCTIONS.values()].map(({ name, parameters: names }) => [pythonName(name), names.filter((one) => !one.startsWith("*"))]),
    );
    const wrong = python(`
import inspect, json
import svc.functions as F
parameters = json.loads(${JSON.stringify(JSON.stringify(parameters))})
wrong = []
for name, names in parameters.items():
    function = getattr(F, name)
    printed = [one for one in inspect.signature(function).parameters.values() if one.kind != one.VAR_POSITIONAL]
    if [one.name for one in printed] != [one.rstrip("?") for one in names]:
        wrong.append([name, "prints other names", [one.name for one in printed]])
    least = [one for one in names if not one.endswith("?")]
    for given in ([one.rstrip("?") for one in names], least):
        call = function(**{one: at for at, one in reversed(list(enumerate(given)))})
        if not given:
            continue
        if [argument.value for argument in call.arguments] != list(range(len(given))):
            wrong.append([name, given, repr(call)])
print(json.dumps(wrong))
`);
    expect(wrong).toEqual([]);
  });

  test("the examples are what they say", () => {
    const examples = Object.fromEntries([...FUNCTIONS.values(), ...AGGREGATIONS.values()].map(({ name, example }) => [name, example]));
    const uses = python(`
import json
import svc.functions as F
from svc.features import _
from svc._model.expression import Aggregate, Call

def names(item):
    if isinstance(item, Call):
        return [item.function, *(name for argument in item.arguments for name in names(argument))]
    return [item.method] if isinstance(item, Aggregate) else []

examples = json.loads(${JSON.stringify(JSON.stringify(examples))})
print(json.dumps([name for name, example in examples.items() if name not in names(eval(example))]))
`);
    expect(uses).toEqual([]);
  });

  test("the names that the SDK knows by itself are those of the table", () => {
    const known = python(`
import json
from svc._analysis import function_names as names
print(json.dumps([sorted(names.AGGREGATIONS), sorted(names.ONE_COLUMN), sorted(names.CONDITIONS)]))
`);
    const conditions = [...FUNCTIONS.values()].filter(({ overloads }) =>
      overloads.every(({ signature: { result } }) => result.kind === "type" && typeName(result.type) === "bool"),
    );
    expect(known).toEqual([
      [...AGGREGATIONS.keys()].sort(),
      [...AGGREGATIONS.values()]
        .filter(({ needsColumn }) => needsColumn)
        .map(({ name }) => name)
        .sort(),
      conditions.map(({ name }) => name).sort(),
    ]);
  });
});
