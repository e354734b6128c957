/** Rules about reading and importing a project's Python: 101 to 106. */

import { message, rule } from "./rule.ts";

export const INVALID_SYNTAX = rule(
  {
    code: 101,
    id: "invalid-syntax",
    title: "A file is not Python",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-any-analysis",
    means: "The file cannot be parsed as Python. The marker is where the parser gave up, which may be behind the mistake.",
    why: "A module that cannot be parsed cannot be imported, so that nothing in it would exist.",
    example: { broken: { "features.py": "weights = [1, 2\n" }, mended: { "features.py": "weights = [1, 2]\n" } },
  },
  {
    notPython: message("{path} cannot be read as Python: {problem}", "not Python"),
    syntax: message("{problem} ({runtime})", "syntax error"),
  },
);

export const IMPORT_FAILED = rule(
  {
    code: 102,
    id: "import-failed",
    title: "A module could not be imported, or a package not installed",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "Importing the project raised an exception, a package that it needs could not be installed, or a hook that runs before all calls failed. The " +
      "finding shows the innermost line of the project.",
    why: "A deployment imports the same modules; what they would have defined is not known.",
    example: { broken: { "features.py": "ratio = 1 / 0\n" }, mended: { "features.py": "ratio = 1 / 2\n" } },
  },
  {
    hook: message("{problem}", "raised here"),
    module: message("{file} cannot be imported: {said} ({place}){frames}", "{label}"),
    unreachable: message("{path} cannot be imported: {why}", "cannot be imported"),
    install: message("{problem}", "not installed"),
    requirements: message("{problem}", "cannot be read"),
    noFolder: message(
      "the workers need a temporary folder, and none can be made in {folder}: {problem}; start the server with TMPDIR set to another folder",
      "not started",
    ),
    missingResolver: message("the project was imported, but it defines no resolver '{resolvers}' in a worker", "not defined"),
  },
);

export const IMPORT_UNFINISHED = rule(
  {
    code: 103,
    id: "import-unfinished",
    title: "Importing the project did not come to its end",
    severity: "error",
    foundBy: ["analyzer"],
    means: "A module exits the interpreter, is killed, or takes too long while it is imported. Move such work into a resolver or a script.",
    why: "Code at the top level of a module runs at every deployment and in every worker.",
    example: {
      broken: { "features.py": "import sys\n\nsys.exit(3)\n" },
      mended: { "features.py": 'import sys\n\nif __name__ == "__main__":\n    sys.exit(3)\n' },
    },
  },
  {
    exits: message("importing {file} exits the interpreter: {said} ({place})", "exits here"),
    unfinished: message("{problem}", "import did not finish"),
  },
);

export const NEWER_PYTHON = rule(
  {
    code: 104,
    id: "newer-python",
    title: "The code needs a newer Python than the environment's runtime",
    severity: "error",
    foundBy: ["text"],
    means: "The syntax exists only since a later version of Python than `runtime` names in the project file.",
    why: "The older interpreter would refuse the whole file.",
    example: {
      broken: { "features.py": "type Amount = int\n", "svc.yaml": "project: demo\nenvironments:\n  default:\n    runtime: python310\n" },
      mended: { "features.py": "Amount = int\n", "svc.yaml": "project: demo\nenvironments:\n  default:\n    runtime: python310\n" },
    },
  },
  { needed: message("{syntax} needs Python 3.{minor}, but the runtime is {runtime}", "Python 3.{minor}") },
);

export const UNKNOWN_SDK_NAME = rule(
  {
    code: 105,
    id: "unknown-sdk-name",
    title: "The SDK has no such module or name",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "A name is imported from `svc` that this version does not have, or that another of its modules has. The message says what there is instead.",
    why: "The import would fail.",
    example: {
      broken: { "features.py": "from svc.streams import has_many\n" },
      mended: { "features.py": "from svc.features import has_many\n" },
    },
  },
  {
    noModule: message("{problem}", "no such module"),
    noName: message("{problem}", "no such name"),
  },
);

export const UNKNOWN_OPTION = rule(
  {
    code: 106,
    id: "unknown-option",
    title: "A decorator, function or class of the SDK has no such option",
    severity: "error",
    foundBy: ["analyzer"],
    means: "An option is misspelt, or this version does not have it. The message says which there are, or what there is instead.",
    why: "An option that nobody reads would look as if it had an effect.",
    example: {
      broken: { "features.py": '@features\nclass User:\n    id: int\n    name: str = feature(default="", ownr="crm@example.com")\n' },
      mended: { "features.py": '@features\nclass User:\n    id: int\n    name: str = feature(default="", owner="crm@example.com")\n' },
    },
  },
  {
    noOption: message("{problem}", "no such option"),
  },
);
