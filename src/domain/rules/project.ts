/** Rules about the project and the machine: 190 to 194, and 209. */

import { message, rule } from "./rule.ts";

const RESOLVER =
  '@features\nclass User:\n    id: int\n    name: str\n\n\n@online(OPTIONS)\ndef greet(id: User.id) -> User.name:\n    """Greets."""\n    return f"user {id}"\n';
const DEPRECATED =
  "@features\nclass User:\n    id: int\n    # Use score\n    old: int = feature(deprecated=True, default=0)\n    score: int = 0\n    twice: int = _.USED * 2\n";
const VENV_FILES = {
  "svc.yaml": "project: demo\nenvironments:\n  default:\n    venvs:\n      model:\n        requirements: requirements-model.txt\n",
  "requirements-model.txt": "",
};
const POLICY =
  "project: demo\nenvironments:\n  default: {}\nvalidation:\n  resolver:\n    metadata:\n      - name: owner\n        missing: error\n";

export const BAD_PROJECT_FILE = rule(
  {
    code: 190,
    id: "bad-project-file",
    title: "The project file has a mistake",
    severity: "error",
    foundBy: ["text"],
    means: "`svc.yaml` is no YAML, has a key that svc does not know or a value that it cannot have, or names a file that does not exist.",
    why: "A misspelt key would be without effect.",
    example: {
      broken: { "features.py": "", "svc.yaml": "project: demo\nowners: crm@example.com\n" },
      mended: { "features.py": "", "svc.yaml": "project: demo\n" },
    },
  },
  {
    value: message("{problem}", "{label}"),
    notYaml: message("the project file is not YAML: {problem}", "here"),
    missingFile: message("environments.{environment}.{key}: {path} does not exist", "no such file"),
  },
);

export const NO_INTERPRETER = rule(
  {
    code: 191,
    id: "no-interpreter",
    title: "There is no Python to run the project",
    severity: "error",
    foundBy: ["machine"],
    means:
      "svc searched this machine for the Python that the environment's `runtime` names, or for any that it supports. The message says how to install it.",
    why: "Without Python the modules cannot be imported; only what their text shows was checked.",
    example: { none: "It is about the machine, not the files." },
  },
  {
    notFound: message("{wanted} was found (searched {searched}); install it with {command}", "not installed"),
    notSupported: message("runtime '{runtime}' is not supported; set it to one of {runtimes}", "not installed"),
  },
);

export const MISSING_METADATA = rule(
  {
    code: 192,
    id: "missing-metadata",
    title: "A feature or resolver lacks metadata that the project asks for",
    severity: "error",
    foundBy: ["text"],
    yields: "to-sound-analysis",
    means:
      "`validation` in the project file asks for an owner, a description or tags, and says whether a missing one is an error or a warning.",
    why: "The project has decided so.",
    example: {
      broken: { "features.py": RESOLVER.replace("(OPTIONS)", ""), "svc.yaml": POLICY },
      mended: { "features.py": RESOLVER.replace("OPTIONS", 'owner="crm@example.com"'), "svc.yaml": POLICY },
    },
  },
  {
    missing: message("'{fqn}' {what}, which this project asks of every {kind}: {cure}", "{label}"),
  },
);

export const DEPRECATED_FEATURE = rule(
  {
    code: 193,
    id: "deprecated-feature",
    title: "A deprecated feature is used",
    severity: "warning",
    foundBy: ["graph"],
    means:
      "The feature says `deprecated=True`, and a resolver, an expression or a query reads or gives it. Use what its description names instead; it can be " +
      "taken out when nothing uses it any more.",
    why: "Its owner wants to take it out, and what uses it would then fail.",
    example: {
      broken: { "features.py": DEPRECATED.replace("USED", "old") },
      mended: { "features.py": DEPRECATED.replace("USED", "score") },
    },
  },
  { used: message("{user} uses {feature}, which {is}", "deprecated") },
);

export const UNKNOWN_VENV = rule(
  {
    code: 196,
    id: "unknown-venv",
    title: "A venv is not in the project file, or nobody uses it",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`venv=` names a set of requirements that the environment does not have under `venvs` in svc.yaml. One that is there, and that no resolver or evaluation " +
      "names, is a warning.",
    why: "The packages that the function needs would not be installed.",
    example: {
      broken: { ...VENV_FILES, "features.py": RESOLVER.replace("OPTIONS", 'venv="modle"') },
      mended: { ...VENV_FILES, "features.py": RESOLVER.replace("OPTIONS", 'venv="model"') },
    },
  },
  {
    unknown: message("{what} runs in venv '{venv}', which svc.yaml does not have for this environment: {advice}", "no such venv"),
    unused: message(
      "no resolver, function or evaluation runs in venv '{venv}', and so no hook: only `svc task run --venv` could use it",
      "not used",
    ),
  },
);

export const UNKNOWN_RESOURCE_GROUP = rule(
  {
    code: 209,
    id: "unknown-resource-group",
    title: "A resource group is not one that the environment has",
    severity: "error",
    foundBy: ["server"],
    means:
      "`resource_group=` names a group that the configuration of the environment does not have under `resource_groups`, or whose settings of the service " +
      "`worker` cannot be used. `svc environment config` shows the groups, and `svc environment update` adds some.",
    why: "There would be no workers in which the resolvers could run.",
    example: { none: "Resource groups are of an environment of the server, which a few files do not have." },
  },
  { unusable: message("{what} runs in resource group '{group}', and {problem}", "no such group here") },
);

export const MISSING_DRIVER = rule(
  {
    code: 194,
    id: "missing-driver",
    title: "The requirements lack the driver of a source",
    severity: "error",
    foundBy: ["text"],
    means:
      "A source is reached by a package of Python that the environment's requirements file does not name. Add it, or the extra of svc that brings it.",
    why: "The source could not be read where the project is deployed.",
    example: { none: "The sources that need a driver are not in this version, which rule 105 says of the same line." },
  },
  { missing: message("{source} needs the driver {driver}, which {where}: add 'svc[{extra}]' or '{driver}'", "driver missing") },
);
