import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { runMain, type TestIoOptions } from "../harness/context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

const SOURCE = 'from svc import SQLiteSource\n\nlite = SQLiteSource(name="lite", path="app.db")\n';
const QUERY = "-- resolves: User\n-- source: lite\nselect id, title as nmae from app_user\n";
const home = tempFolder("svc-lint-home-");
const main = (argv: readonly string[], cwd: string, env: Record<string, string | undefined> = {}, streams: TestIoOptions = {}) =>
  runMain(argv, { cwd, env: { HOME: home, ...env }, ...streams });

describe("svc lint --local", () => {
  test("nothing wrong", async () => {
    const done = await main(["lint", "--local"], writeProject());
    expect([done.exitCode, done.stdout]).toEqual([0, "No problems found.\n"]);
    expect((await main(["lint", "--local", "--json"], writeProject())).stdout).toBe("[]\n");
  }, 300_000);

  test("153 as the specification prints it, exit 1, from a folder below the project", async () => {
    const project = writeProject({ "sources.py": SOURCE, "sql/get_user.svc.sql": QUERY });
    const done = await main(["lint", "--local"], join(project, "sql"));
    expect(done.exitCode).toBe(1);
    expect(done.stdout).toBe(`Error[153]: output feature 'nmae' does not exist in class User; the closest is 'name'
 --> sql/get_user.svc.sql:3:21
  |
1 | -- resolves: User
2 | -- source: lite
3 | select id, title as nmae from app_user
  |                     ^^^^ no such feature

1 error found.
`);
  }, 300_000);

  test("--json is the protocol's array on stdout, and still exit 1", async () => {
    const project = writeProject({ "sources.py": SOURCE, "get_user.svc.sql": QUERY });
    const done = await main(["lint", "--local", "--json"], project);
    expect(done.exitCode).toBe(1);
    expect(JSON.parse(done.stdout)).toEqual([
      {
        uri: Bun.pathToFileURL(join(project, "get_user.svc.sql")).href,
        range: { start: { line: 2, character: 20 }, end: { line: 2, character: 24 } },
        severity: 1,
        message: "output feature 'nmae' does not exist in class User; the closest is 'name'",
        code: 153,
        source: "svc",
        relatedInformation: [],
      },
    ]);
  }, 300_000);

  test("what is found without Python and by the analyzer is said once", async () => {
    const project = writeProject({
      "more.py": "from features import User\nfrom svc import online\n\n@online\ndef f(a, b: User.id) -> User.score: ...\n",
    });
    const done = await main(["lint", "--local"], project);
    expect(done.exitCode).toBe(1);
    expect(done.stdout.match(/^Error\[140\]/gm)).toHaveLength(1);
    expect(done.stdout).toContain(" --> more.py:5:7\n");
  }, 300_000);

  test("Python's word counts where the text alone is not enough", async () => {
    const project = writeProject({
      "more.py":
        "from svc.features import features\nimport features as f\n\n\ndef key(cls):\n    cls.__annotations__['id'] = int\n    return cls\n\n\n@features\n@key\nclass Made:\n    name: str\n",
    });
    const done = await main(["lint", "--local"], project);
    expect(done.stdout).not.toContain("Error");
    expect(done.exitCode).toBe(0);
  }, 300_000);

  test("no Python: one line that says what was searched, beside what the text shows", async () => {
    const project = writeProject({ "sources.py": SOURCE, "get_user.svc.sql": QUERY, "broken.py": "x = (\n" });
    const done = await main(["lint", "--local", "--json"], project, { PATH: "/nonexistent" });
    const codes = (JSON.parse(done.stdout) as { code: number }[]).map((finding) => finding.code).sort();
    expect(codes).toEqual([101, 153, 191]);
    expect(done.exitCode).toBe(1);
  }, 300_000);

  test("a project file with mistakes is linted too", async () => {
    const project = writeProject({ "svc.yaml": "project: demo\nenvironmnts: {}\n" });
    const done = await main(["lint", "--local"], project);
    expect(done.exitCode).toBe(1);
    expect(done.stdout).toContain("Error[190]: environmnts: unknown key; did you mean 'environments'?\n --> svc.yaml:2:1\n");
  }, 300_000);

  test("no server, or no credentials: what this machine finds is shown, then why the rest could not be done", async () => {
    const project = writeProject({
      "more.py": "from svc.features import features\n\n\n@features\nclass Order:\n    id: int\n    spare: str\n",
    });
    const nobody = { SVC_API_SERVER: "http://127.0.0.1:9", SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b" };
    const only = "Error: only the checks of this machine were made, for the server could not be asked: ";
    for (const [env, exitCode, why] of [
      [nobody, 1, "nothing answers at http://127.0.0.1:9"],
      [{}, 4, "you are not logged in"],
    ] as const) {
      const text = await main(["lint"], project, env);
      expect([text.exitCode, text.stdout]).toEqual([exitCode, expect.stringContaining("Warning[163]: ")]);
      expect(text.stderr).toContain(only + why);
      expect(text.stderr).toContain("Without a server: svc lint --local");
      expect((await main(["lint", "--lsp"], project, env)).stdout).toBe(text.stdout);
      const json = await main(["lint", "--json"], project, env);
      expect(json.exitCode).toBe(exitCode);
      expect(JSON.parse(json.stdout)).toMatchObject([{ code: 163, severity: 2 }]);
      expect(JSON.parse(json.stderr)).toMatchObject({ error: { message: expect.stringContaining(why) } });
      const local = await main(["lint", "--local"], project, env);
      expect([local.exitCode, local.stdout, local.stderr]).toEqual([0, text.stdout, "Validating the project\n"]);
    }
  }, 300_000);

  test("apply asks for the login and the server before it validates anything, and says all that is missing at once", async () => {
    const project = writeProject({ "broken.py": "x = (\n" });
    const nobody = { SVC_API_SERVER: "http://127.0.0.1:9" };
    const first = await main(["apply", "--force"], project, nobody);
    expect([first.exitCode, first.stdout, first.stderr]).toEqual([
      4,
      "",
      "Error: not logged in, and no server answers at http://127.0.0.1:9\n" +
        "Start one on this machine with `svc server start`, which logs you in; for a server elsewhere: svc login --api-host <address>\n",
    ]);
    const away = await main(["apply", "--force"], project, { ...nobody, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b" });
    expect([away.exitCode, away.stderr]).toEqual([
      1,
      expect.stringMatching(/^Error: nothing answers at .*\nStart a server with `svc server start`/),
    ]);
  }, 300_000);

  test("with errors here the server is not missed", async () => {
    const project = writeProject({ "broken.py": "x = (\n" });
    const done = await main(["lint"], project, { SVC_API_SERVER: "http://127.0.0.1:9", SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b" });
    expect([done.exitCode, done.stdout]).toEqual([1, expect.stringContaining("Error[101]: ")]);
    expect(done.stderr).toContain("The server was not asked: mend the errors first.");
  }, 300_000);

  test("--local and --lsp exclude each other; no project is no stack trace", async () => {
    const both = await main(["lint", "--local", "--lsp"], writeProject());
    expect([both.exitCode, both.stdout]).toEqual([2, ""]);
    expect(both.stderr).toContain("--local and --lsp exclude each other");
    const none = await main(["lint"], tempFolder("svc-empty-"));
    expect([none.exitCode, none.stdout]).toEqual([1, ""]);
    expect(none.stderr).toContain("svc init");
  });
});

describe("with a server", () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform();
  }, 300_000);
  afterAll(() => platform.server.stop());
  const run = (path: string, words: readonly string[], dir: string) =>
    runCommand(path, words, { home: platform.home, env: platform.env, dir });

  test("svc lint asks it when nothing is wrong so far", async () => {
    const clean = await run("lint", [], writeProject());
    expect([clean.exitCode, clean.stdout]).toEqual([0, "No problems found.\n"]);
    const project = writeProject({ "get_user.svc.sql": QUERY.replace("nmae", "name").replace("lite", "warehouse\n-- tags: slow") });
    for (const words of [[], ["--lsp"]]) {
      const done = await run("lint", words, project);
      expect(done.exitCode).toBe(1);
      expect(done.stdout).toContain("Error[154]: ");
      expect(done.stdout).toContain("get_user.svc.sql:2:12");
    }
    expect((await run("lint", ["--local"], project)).exitCode).toBe(0);
  }, 300_000);

  test("it is not asked about a project with errors, and that is said", async () => {
    const done = await run("lint", [], writeProject({ "sources.py": SOURCE, "get_user.svc.sql": QUERY }));
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toContain("The server was not asked: mend the errors first.");
  }, 300_000);

  test("svc init writes a project that applies and answers as it stands", async () => {
    const dir = join(tempFolder("svc-init-"), "My Project 2");
    mkdirSync(dir);
    const first = await run("init", [], dir);
    expect([first.exitCode, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toStartWith(
      "Wrote svc.yaml\nWrote .svcignore\nWrote features.py\n\nDeploy it, and ask for a feature:\n  svc apply --await\n  svc query ",
    );
    expect((await run("project", [], dir)).stdout).toStartWith("Name  my_project_2\n");
    expect((await run("lint", [], dir)).stdout).toBe("No problems found.\n");
    const applied = await run("apply", ["--force", "--await"], dir);
    expect([applied.exitCode, applied.stderr]).toEqual([0, expect.any(String)]);
    const words = /svc query (.*)/.exec(first.stdout)?.[1]?.trim().split(" ") ?? [];
    const answer = await run("query", [...words, "--json"], dir);
    expect(answer.json()).toMatchObject({ data: [{ field: "user.domain", value: "example.com" }] });
  }, 300_000);

  test("svc init overwrites nothing and says what it left", async () => {
    const dir = tempFolder("svc-init-");
    writeFileSync(join(dir, "svc.yml"), "project: mine\n");
    writeFileSync(join(dir, "model.py"), "x = 1\n");
    const done = await run("init", ["--json"], dir);
    expect(done.json()).toEqual({ written: [".svcignore"], left: ["svc.yml"] });
    expect((await run("project", ["--json"], dir)).json()).toMatchObject({ name: "mine", config_file: join(dir, "svc.yml") });
    const again = await run("init", [], dir);
    expect(again.stdout).toBe("Left svc.yml as it is\nLeft .svcignore as it is\n");
  });
});

describe("svc files", () => {
  test("one path a line, sorted; sizes with --json; no credentials needed", async () => {
    const project = writeProject({ ".gitignore": "*.log\n", "x.log": "", "data/a.csv": "1,2\n" });
    const done = await main(["files"], join(project, "data"));
    expect([done.exitCode, done.stdout]).toEqual([0, ".gitignore\ndata/a.csv\nfeatures.py\nresolvers.py\nsvc.yaml\n"]);
    const json = await main(["files", "--json"], project);
    expect((JSON.parse(json.stdout) as unknown[])[1]).toEqual({ path: "data/a.csv", size: 4 });
  });

  test("a name with control characters is shown escaped, and is why nothing can be uploaded", async () => {
    const done = await main(["files"], writeProject({ "a\x1b[31m.txt": "" }));
    expect(done.stdout).toContain("a\\x1b[31m.txt\n");
    expect([done.exitCode, done.stderr]).toEqual([1, expect.stringContaining("characters that a path may not have")]);
    expect(done.stderr).not.toContain("\x1b");
  });
});

describe("svc project", () => {
  const project = () =>
    writeProject({
      "requirements.txt": "",
      "svc.yaml": "project: demo\nenvironments:\n  default: {requirements: requirements.txt, runtime: python311}\n  dev: {}\n",
    });

  test("name and environments", async () => {
    const done = await main(["project"], project());
    expect([done.exitCode, done.stdout]).toEqual([
      0,
      "Name  demo\n\nEnvironment  Requirements      Runtime\ndefault      requirements.txt  python311\ndev          -\n",
    ]);
    const json = JSON.parse((await main(["project", "--json"], project())).stdout) as { environments: unknown[] };
    expect(json).toMatchObject({ name: "demo", validation: {} });
    expect(json.environments[0]).toEqual({
      environment: "default",
      requirements: "requirements.txt",
      runtime: "python311",
      venvs: [],
      dockerfile: null,
      platform_version: null,
      ignore_file: null,
    });
  });

  test("mistakes are shown on stderr", async () => {
    const done = await main(["project"], writeProject({ "svc.yaml": "project: demo\nruntime: python311\n" }));
    expect(done.exitCode).toBe(0);
    expect(done.stderr).toContain("Error[190]: runtime: unknown key");
  });

  test("--edit opens the editor on the file, which need not be sound", async () => {
    const dir = project();
    const editor = join(dir, "edit.sh");
    writeFileSync(editor, '#!/bin/sh\nprintf "project: edited\\n" > "$2"\necho "$1" > "$(dirname "$2")/flag"\n', { mode: 0o755 });
    writeFileSync(join(dir, "svc.yaml"), "project: [");
    const edit = (env: Record<string, string>) => main(["project", "--edit"], dir, env, { stdinIsTTY: true, stdoutIsTTY: true });
    const done = await edit({ EDITOR: `${editor} --wait` });
    expect([done.exitCode, done.stdout, done.stderr]).toEqual([0, "", ""]);
    expect((await main(["project"], dir)).stdout).toStartWith("Name  edited\n");
    const failing = await edit({ VISUAL: "false" });
    expect([failing.exitCode, failing.stderr]).toEqual([1, expect.stringContaining("The editor (false) ended with exit code 1.")]);
    const none = await edit({ PATH: "/nonexistent" });
    expect(none.stderr).toContain("Set $VISUAL or $EDITOR");
    for (const streams of [{}, { stdinIsTTY: true }, { stdoutIsTTY: true }]) {
      const refused = await main(["project", "--edit"], dir, { EDITOR: "/bin/false" }, streams);
      expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining(`The project file is ${join(dir, "svc.yaml")}`)]);
    }
  });
});
