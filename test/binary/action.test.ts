/**
 * The CI action lints, previews and deploys with the compiled binary: its second step is run as the
 * CI system does, by bash with the files and variables that the system names.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { goProgram, lacksGoProgram } from "../harness/go-programs.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const ACTION = readFileSync(join(import.meta.dir, "../../src/packaging/templates/action.yml"), "utf8");

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default: string }>>;
  readonly runs: {
    readonly steps: readonly {
      readonly id: string;
      readonly if?: string;
      readonly run: string;
      readonly env: Readonly<Record<string, string>>;
    }[];
  };
}
const action = Bun.YAML.parse(ACTION) as Action;

const FEATURES = `print("::error::said by the project")
from svc import online
from svc.features import features


@features
class User:
    id: int
    name: str


@online
def name(id: User.id) -> User.name:
    return f"user {id}"
`;

let sandbox: Sandbox;
let project: string;
beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  project = await sandbox.write({ "svc.yaml": "project: ci\n", "features.py": FEATURES });
}, 300_000);
afterAll(async () => await sandbox?.[Symbol.asyncDispose]());

interface Ran {
  readonly code: number;
  readonly lines: readonly string[];
  readonly outputs: string;
  readonly summary: string;
}

/** Runs the step with inputs; expressions of the system are replaced as it does. */
async function ran(inputs: Readonly<Record<string, string>>, more: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const step = action.runs.steps.find(({ id }) => id === "run");
  const temp = mkdtempSync(join(sandbox.root, "runner-"));
  const bin = join(temp, "bin");
  mkdirSync(bin);
  symlinkSync(sandbox.binary, join(bin, "svc"));
  const given = { ...more, PATH: `${bin}:${process.env.PATH}`, HOME: sandbox.env.HOME ?? temp };
  const inputOf = (expression: string): string => {
    const [, input = "", variable = ""] = /^inputs\.([\w-]+)(?: \|\| env\.(\w+))?$/.exec(expression.trim()) ?? [];
    expect(Object.keys(action.inputs)).toContain(input);
    return inputs[input] || (variable === "" ? (action.inputs[input]?.default ?? "") : (more[variable] ?? ""));
  };
  const own = Object.entries(step?.env ?? {}).map(([name, text]) => [
    name,
    text.replace(/\$\{\{(.*?)\}\}/g, (_, expression: string) => inputOf(expression)),
  ]);
  const child = Bun.spawn(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step?.run ?? "exit 9"], {
    cwd: project,
    env: {
      ...given,
      ...Object.fromEntries(own),
      ...{
        RUNNER_TEMP: temp,
        GITHUB_OUTPUT: join(temp, "out"),
        GITHUB_STEP_SUMMARY: join(temp, "summary"),
      },
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const file = (name: string) => (existsSync(join(temp, name)) ? readFileSync(join(temp, name), "utf8") : "");
  return { code: await child.exited, lines: `${stdout}${stderr}`.split("\n"), outputs: file("out"), summary: file("summary") };
}

/** The lines that the system takes for its commands: those outside of what was muted. */
function commands({ lines }: Ran): string[] {
  let mute = "";
  return lines.filter((line) => {
    if (mute !== "") {
      if (line === `::${mute}::`) mute = "";
      return false;
    }
    mute = /^::stop-commands::([0-9a-f]{32})$/.exec(line)?.[1] ?? "";
    return mute === "" && line.startsWith("::");
  });
}

const credentials = async () => {
  const words = ["service-token", "create", "--name", `ci-${crypto.randomUUID()}`, "--role", "developer"];
  const { client_id: id, client_secret: secret } = await sandbox.json<{ client_id: string; client_secret: string }>(words);
  return { server: sandbox.url, "client-id": id, "client-secret": secret };
};

test("lint tells findings at their places, without a server where none is named", async () => {
  const fine = await ran({ run: "lint" });
  expect([fine.code, commands(fine)]).toEqual([0, [expect.stringContaining("::notice::svc checks without a server")]]);
  mkdirSync(join(project, "a, é"), { recursive: true });
  const file = join(project, "a, é", "more.py");
  writeFileSync(
    file,
    "from svc import online\nfrom features import User\n\n\n@online\ndef f(id: User.idd) -> User.name:\n    return str(id)\n",
  );
  try {
    const { code, ...told } = await ran({ run: "lint" }, { SVC_API_SERVER: sandbox.url });
    const [found = ""] = commands({ code, ...told });
    expect(code).toBe(1);
    expect(found).toMatch(
      /^::error file=\/[^,]+\/a%2C é\/more\.py,line=6,col=16,title=svc \d+::User has no feature 'idd'; did you mean 'id'\?$/,
    );
  } finally {
    await Bun.file(file).delete();
  }
}, 300_000);

test("preview shows what would change, and apply deploys and says where", async () => {
  const inputs = await credentials();
  const preview = await ran({ ...inputs, run: "preview" });
  expect([preview.code, preview.outputs, commands(preview)]).toEqual([0, "", []]);
  expect(preview.lines.join("\n")).toContain("user");
  const applied = await ran({ ...inputs, run: "apply", branch: "feature/ci" });
  const [, id = "", url = ""] = /^deployment-id=(dpl_\w+)\nurl=(\S+)\n$/.exec(applied.outputs) ?? [];
  expect([applied.code, commands(applied), url]).toEqual([0, [], expect.stringContaining(`/deployments/${id}`)]);
  expect(applied.summary).toBe(`[Deployment ${id}](${url})\n`);
  expect(applied.lines.join("\n")).not.toContain(inputs["client-secret"]);
  const { branch, status } = await sandbox.json<{ branch: string; status: string }>(["deployment", "get", id]);
  expect([branch, status]).toEqual(["feature/ci", "live"]);
}, 300_000);

test("what fails, fails the job, and what is asked for wrongly is told", async () => {
  const refused = await ran({ run: "apply", server: sandbox.url, "client-id": "nobody", "client-secret": "wrong" });
  expect([refused.code > 0, refused.outputs]).toEqual([true, ""]);
  const wrong = await ran({ run: "deploy" });
  expect([wrong.code, commands(wrong)]).toEqual([2, [expect.stringContaining("::error::the input run is lint, preview or apply")]]);
}, 300_000);

test.skipIf(lacksProgram("shellcheck"))("its step is bash that shellcheck has nothing to say about", () => {
  const script = join(sandbox.root, "step.sh");
  writeFileSync(script, `#!/bin/bash\nexport RUN ENVIRONMENT BRANCH FINDINGS\n${action.runs.steps.find(({ id }) => id === "run")?.run}`);
  expect(Bun.spawnSync(["shellcheck", script]).stdout.toString()).toBe("");
});

test.skipIf(lacksGoProgram("actionlint"))("the workflow of the docs uses it as it is, by the judgement of actionlint", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../docs/production.md")).text();
  const workflow = /^```yaml file: \.github\/workflows\/features\.yml\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "";
  expect(workflow).toContain("uses: ./.github/actions/svc");
  const repository = await sandbox.write({ ".github/workflows/features.yml": workflow, ".github/actions/svc/action.yml": ACTION });
  await Bun.spawn(["git", "init", "--quiet"], { cwd: repository }).exited;
  const judge = (text: string) => {
    writeFileSync(join(repository, ".github/workflows/features.yml"), text);
    const { exitCode, stdout } = Bun.spawnSync([goProgram("actionlint"), "-no-color"], { cwd: repository });
    return [exitCode, stdout.toString()];
  };
  expect(judge(workflow)).toEqual([0, ""]);
  expect(judge(workflow.replace("run: apply", "runs: apply"))).toEqual([1, expect.stringContaining('input "runs" is not defined')]);
});
