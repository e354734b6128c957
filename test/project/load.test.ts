import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { CliError } from "../../src/errors/cli-error.ts";
import { loadProject } from "../../src/project/load.ts";
import { marked, type Shown, shown, spanOf } from "../harness/marked.ts";
import { makeTree, removeTrees } from "./temp-tree.ts";

afterAll(removeTrees);

async function failure(promise: Promise<unknown>): Promise<CliError> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof CliError)) throw new Error("no CliError");
  return thrown;
}

async function read(text: string, files: Record<string, string> = {}) {
  return await loadProject(await makeTree({ "svc.yaml": text, ...files }));
}

/** Findings of a marked project file, each at its mark. */
async function expectFindings(source: string, findings: readonly Omit<Shown, "at" | "rule">[]) {
  const fixture = marked(source);
  const { diagnostics } = await read(fixture.text);
  expect(shown(diagnostics)).toEqual(
    findings.map((finding, index) => ({ rule: "E190", at: spanOf("svc.yaml", fixture, index), ...finding })),
  );
}

describe("finding the project file", () => {
  test("in the folder or above it, either name", async () => {
    const root = await makeTree({ "svc.yml": "project: up\n", "a/b/c.py": "" });
    const project = await loadProject(join(root, "a/b"));
    expect(project).toMatchObject({ root, configPath: join(root, "svc.yml"), name: "up" });
    expect((await project.files()).map((file) => file.path)).toEqual(["a/b/c.py", "svc.yml"]);
  });

  test("none: says where it looked and what to run", async () => {
    const root = await makeTree({ "a/x": "" });
    const error = await failure(loadProject(join(root, "a")));
    expect(error.message).toStartWith(`No project file: there is no svc.yaml or svc.yml in ${join(root, "a")} or its parents ${root}, `);
    expect(error.hint).toContain("svc init");
    expect(error).toMatchObject({ code: "no_project", exitCode: 1 });
  });

  test("broken YAML: file, line, column and excerpt", async () => {
    const error = await failure(read("project: x\nenvironments:\n  default: [a\n  other: b\n"));
    expect(
      error.message,
    ).toBe(`Error[190]: the project file is not YAML: flow sequence in block collection must be sufficiently indented and end with a ]
 --> svc.yaml:4:3
  |
2 | environments:
3 |   default: [a
4 |   other: b
  |   ^ here`);
    expect(error).toMatchObject({ code: "bad_project_file", details: { line: 4, column: 3 } });
  });
});

test("a project file that is nested without end is said to be that", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  for (const text of [`project: ${deep}\n`, `project: x\nenvironments: {default: {runtime: ${deep}}}\n`, `${"- ".repeat(50_000)}x\n`]) {
    const error = await failure(read(text));
    expect(error).toMatchObject({ code: "bad_project_file" });
    expect(error.message).toMatch(/the project file is not YAML: it is nested (too deeply|deeper than 40 levels)/);
    expect(error.message).not.toContain("call stack");
  }
});

describe("what it says", () => {
  test("everything", async () => {
    const project = await read(
      `project: flights
environments:
  default:
    requirements: requirements.txt
    runtime: python311
  dev:
    runtime: python312
    dockerfile: Dockerfile
    platform-version: "1.2"
    ignore-file: dev.ignore
  bare:
validation:
  feature:
    metadata:
      - name: owner
        missing: error
  resolver: [{name: tags, missing: warn}]
`,
      { "requirements.txt": "", "dev.ignore": "" },
    );
    expect(project.diagnostics).toEqual([]);
    expect(project.name).toBe("flights");
    expect(project.environments).toEqual([
      { name: "default", requirements: "requirements.txt", runtime: "python311" },
      { name: "dev", runtime: "python312", dockerfile: "Dockerfile", platformVersion: "1.2", ignoreFile: "dev.ignore" },
      { name: "bare" },
    ]);
    expect(project.environment("dev").runtime).toBe("python312");
    expect(project.environment("elsewhere").name).toBe("default");
    expect(project.environment(undefined).name).toBe("default");
    expect(project.validation).toEqual({ feature: [{ name: "owner", missing: "error" }], resolver: [{ name: "tags", missing: "warn" }] });
  });

  test("`name` is another word for `project`; nothing else is needed", async () => {
    const project = await read("name: small\n");
    expect(project).toMatchObject({ name: "small", environments: [], diagnostics: [] });
    expect(project.environment(undefined)).toEqual({ name: "default" });
  });

  test("the ignore file of the environment counts for its files alone", async () => {
    const project = await read("project: x\nenvironments: {dev: {ignore_file: dev.ignore}}\n", { "dev.ignore": "*.csv\n", "a.csv": "" });
    expect((await project.files("dev")).map((file) => file.path)).toEqual(["dev.ignore", "svc.yaml"]);
    expect((await project.files()).map((file) => file.path)).toEqual(["a.csv", "dev.ignore", "svc.yaml"]);
    expect((await project.bundle("dev")).files.map((file) => file.path)).toEqual(["dev.ignore", "svc.yaml"]);
  });
});

describe("190", () => {
  test("what is said twice, and would do nothing", () =>
    expectFindings("project: x\n«name»: y\nenvironments: {default: {platform-version: 1, «platform_version»: 2}}\n", [
      { message: "name: the project has its name from `project` already, and this one would do nothing", label: "a second name" },
      { message: "environments.default.platform_version: is 'platform-version' once more, which counts", label: "given twice" },
    ]));

  test("unknown keys, with the closest", () =>
    expectFindings("project: x\n«enviroments»: {}\nvalidation: {«features»: []}\n", [
      { message: "enviroments: unknown key; did you mean 'environments'?", label: "unknown key" },
      { message: "validation.features: unknown key; did you mean 'feature'?", label: "unknown key" },
    ]));

  test("unknown keys of an environment", () =>
    expectFindings("project: x\nenvironments:\n  default:\n    «runtme»: python311\n    «colour»: red\n", [
      { message: "environments.default.runtme: unknown key; did you mean 'runtime'?", label: "unknown key" },
      {
        message:
          "environments.default.colour: unknown key; the keys are requirements, runtime, dockerfile, platform_version, ignore_file, venvs",
        label: "unknown key",
      },
    ]));

  test("runtimes", () =>
    expectFindings("project: x\nenvironments:\n  a: {runtime: «python3.11»}\n  b: {runtime: «3.12»}\n  c: {runtime: «python39»}\n", [
      { message: "environments.a.runtime: 'python3.11' is no runtime; did you mean 'python311'?", label: "no such runtime" },
      { message: "environments.b.runtime: '3.12' is no runtime; did you mean 'python312'?", label: "no such runtime" },
      {
        message: "environments.c.runtime: 'python39' is no runtime; the runtimes are python310, python311, python312, python313",
        label: "no such runtime",
      },
    ]));

  test("values of the wrong kind", () =>
    expectFindings("project: «[a]»\nenvironments:\n  default: «python311»\n  dev: {requirements: «{a: b}»}\nvalidation: «x»\n", [
      { message: "project: must be a text, but is a list", label: "not a text" },
      { message: "environments.default: must be a mapping of keys to values", label: "not a mapping" },
      { message: "environments.dev.requirements: must be a text, but is a mapping", label: "not a text" },
      { message: "validation: must be a mapping of keys to values", label: "not a mapping" },
    ]));

  test("the metadata policy", () =>
    expectFindings("project: x\nvalidation:\n  feature: [{name: «ownr»}, «{missing: warn}», {name: tags, missing: «fatal»}]\n", [
      { message: "validation.feature[].name: 'ownr' is not known; did you mean 'owner'?", label: "unknown value" },
      { message: "validation.feature[]: has no `name`", label: "no name" },
      { message: "validation.feature[].missing: 'fatal' is not known; it must be one of error, warn, warning", label: "unknown value" },
    ]));

  test("a project without a name, and an empty file", async () => {
    await expectFindings("«e»nvironments: {}\n", [{ message: "project: the project has no name", label: "no name" }]);
    const { name, diagnostics, root } = await read("");
    expect(diagnostics.map(({ message }) => message)).toEqual(["project: the project has no name"]);
    expect(root).toEndWith(`/${name}`);
  });

  test("files that it names and that do not exist", () =>
    expectFindings("project: x\nenvironments:\n  default:\n    requirements: «reqs.txt»\n    ignore_file: «dev.ignore»\n", [
      { message: "environments.default.requirements: reqs.txt does not exist", label: "no such file" },
      { message: "environments.default.ignore_file: dev.ignore does not exist", label: "no such file" },
    ]));

  test("venvs without a name or a file of their own", () =>
    expectFindings(
      "project: x\nenvironments:\n  default:\n    venvs:\n      «a b»: {requirements: q.txt}\n      «none»:\n      odd: {«packages»: x, requirements: «[a]»}\n      other: {runtime: «py», requirements: «r.txt»}\n",
      [
        {
          message:
            "environments.default.venvs: 'a b' cannot be the name of a venv; a name has letters, digits, '.', '_' and '-', at most 100 of them",
          label: "no name",
        },
        { message: "environments.default.venvs.none: names no requirements file", label: "no requirements" },
        { message: "environments.default.venvs.odd.packages: unknown key; the keys are requirements, runtime", label: "unknown key" },
        { message: "environments.default.venvs.odd.requirements: must be a text, but is a list", label: "not a text" },
        {
          message:
            "environments.default.venvs.other.runtime: 'py' is no runtime; the runtimes are python310, python311, python312, python313",
          label: "no such runtime",
        },
        { message: "environments.default.venvs.other.requirements: r.txt does not exist", label: "no such file" },
      ],
    ));

  test("something else than a mapping", () =>
    expectFindings("«- a»\n- b\n", [{ message: "the project file: must be a mapping of keys to values", label: "not a mapping" }]));
});
