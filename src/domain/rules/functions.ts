/** The rule about functions that callers run: 208. */

import { message, rule } from "./rule.ts";

const HEAD = "from svc.compute import function\n\n\n@function\n";

export const BAD_FUNCTION = rule(
  {
    code: 208,
    id: "bad-function",
    title: "A function that callers run does not say what it takes and returns",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "Every parameter of a function under `@function` has a type, and so has what it returns: `def fee(amount: float) -> float`. " +
      "With `batch=True` each is a list of the values of all rows: `list[float]`. Its name is unique in the project.",
    why: "Arguments come as columns with the names of the parameters, and results go as a column; types say how both are read.",
    example: {
      broken: { "features.py": `${HEAD}def fee(amount):\n    return amount * 0.03\n` },
      mended: { "features.py": `${HEAD}def fee(amount: float) -> float:\n    return amount * 0.03\n` },
    },
  },
  {
    starred: message(
      "'{function}' takes {stars}{parameter}: each column of the arguments is a parameter with a name",
      "name the parameters",
    ),
    positional: message("'{function}' takes '{parameter}' by its place alone: arguments come by name, so leave out the '/'", "by place"),
    unannotated: message("the parameter '{parameter}' has no type: write one, such as '{parameter}: float'", "no type"),
    noResult: message("'{function}' does not say what it returns: write a type, such as '-> float'", "returns what?"),
    nothing: message(
      "'{function}' returns None: a function that callers run returns a value, and one without news returns True",
      "nothing",
    ),
    table: message("{written} is no value: take columns, each a parameter, and return one value for each row", "no value"),
    noList: message("'{parameter}' is {written}: with batch=True it is a list of all rows' values, such as list[float]", "one list"),
    resultNoList: message("'{function}' returns {written}: with batch=True it returns a list, such as list[float]", "one list"),
    generator: message("'{function}' yields values: it returns one for each row", "yields"),
    duplicate: message("two functions are called '{function}': give one of them another name=", "the same name"),
  },
);
