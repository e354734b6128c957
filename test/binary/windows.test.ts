/**
 * The Windows build under Wine: the command line against a project on its disks and a server on
 * another machine.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../harness/sandbox.ts";
import { lacksWine, WineMachine, windowsPath } from "../harness/wine.ts";

const PROJECT = "project: people\r\nenvironments:\r\n  default: {}\r\n";
const FEATURES = [
  "from svc import online",
  "from svc.features import features",
  "",
  "@features",
  "class User:",
  "    id: int",
  "    name: str",
  "",
  "@online",
  "def get_name(id: User.id) -> User.name:",
  '    return f"user {id}"',
  "",
].join("\r\n");
/** A stack of JavaScript in what a user sees. */
const STACK = /\n\s+at .*[(:]\d+:\d+/;

describe.skipIf(lacksWine())("svc.exe", () => {
  let machine: WineMachine;
  let linux: Sandbox;
  let project: string;
  let login: string;
  let linuxProject: string;
  const svc = (...args: string[]) => machine.svc(args, { cwd: project });

  beforeAll(async () => {
    linux = new Sandbox();
    const deployed = (async () => {
      await linux.startServer();
      linuxProject = await linux.write({ "svc.yaml": PROJECT, "features.py": FEATURES, "aux.py": "" });
      const applied = await linux.svc(["apply", "--force", "--await"], { cwd: linuxProject });
      expect(applied.stderr).not.toContain("Error");
      return readFileSync(join(linux.home, ".config", "svc.yml"), "utf8");
    })();
    [machine, login] = await Promise.all([WineMachine.boot(), deployed]);
    project = join(machine.work, "my projekt ü");
    mkdirSync(project);
  }, 600_000);
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    await linux?.[Symbol.asyncDispose]();
  });

  test("version, help, and what there is before a login", async () => {
    const version = await svc("version");
    expect([version.exitCode, version.stderr]).toEqual([0, ""]);
    expect(version.stdout).toMatch(/^Version: +v\d+\.\d+\.\d+$/m);
    expect((await svc("version", "--tag-only")).stdout.trim()).toMatch(/^v\d+\.\d+\.\d+$/);
    const help = await svc("--help");
    expect([help.exitCode, help.stdout.includes("svc <command> [flags]"), help.stderr]).toEqual([0, true, ""]);
    expect((await svc("help")).stdout).toBe(help.stdout);
    expect((await svc("help", "apply")).stdout).toContain("svc apply");
    const config = await svc("config");
    expect([config.exitCode, config.stderr]).toEqual([0, ""]);
    expect(config.stdout).toContain("http://127.0.0.1:5757");
    const query = await svc("query", "--in", "user.id=1", "--out", "user.name");
    expect([query.exitCode, query.stdout]).toEqual([4, ""]);
    expect(query.stderr).toContain("svc login");
  });

  test("update --list reads what is installed below %USERPROFILE%", async () => {
    const list = await svc("update", "--list");
    expect(list.stderr + list.stdout).not.toMatch(STACK);
    expect(list.exitCode).toBe(0);
  });

  test("init, in a folder with a space and an umlaut, and again", async () => {
    const first = await svc("init");
    expect([first.exitCode, first.stdout.trim().split(/\r?\n/)]).toEqual([
      0,
      [
        "Wrote svc.yaml",
        "Wrote .svcignore",
        "Wrote features.py",
        "",
        "Deploy it, and ask for a feature:",
        "  svc apply --await",
        "  svc query --in user.id=1 --in user.email=ada@example.com --out user.domain",
      ],
    ]);
    expect(readFileSync(join(project, "svc.yaml"), "utf8")).toMatch(/^project: my_projekt\n/);
    const second = await svc("init");
    expect(second.stdout.match(/Left .* as it is/g)).toHaveLength(3);
    expect((await svc("project")).stdout).toContain("my_projekt");
  });

  test("a project by every way to write its path, also from a folder inside of it", async () => {
    mkdirSync(join(project, "deep", "er"), { recursive: true });
    const listed = (await svc("files", "--json")).stdout;
    expect((JSON.parse(listed) as { path: string }[]).map(({ path }) => path)).toEqual([".svcignore", "features.py", "svc.yaml"]);
    const onDriveZ = windowsPath(project);
    for (const path of [onDriveZ, onDriveZ.replaceAll("\\", "/"), `\\\\?\\${onDriveZ}`, "..\\my projekt ü", "../my projekt ü"])
      expect([path, await svc("files", "--json", "--dir", path)]).toEqual([path, { exitCode: 0, stdout: listed, stderr: "" }]);
    expect((await machine.svc(["files", "--json"], { cwd: join(project, "deep", "er") })).stdout).toBe(listed);
    const onDriveC = join(machine.drive, "projects", "p");
    mkdirSync(onDriveC, { recursive: true });
    expect((await svc("init", "--dir", "C:\\projects\\p")).exitCode).toBe(0);
    expect(existsSync(join(onDriveC, "svc.yaml"))).toBe(true);
    const none = await svc("files", "--dir", "C:\\windows");
    expect(none.stderr).toContain("there is no svc.yaml or svc.yml in C:\\windows or its parents C:\\");
  });

  test("lines that end in CRLF: ignore files, the project file, Python, SQL", async () => {
    const files = {
      "svc.yaml": PROJECT,
      ".svcignore": "# logs\r\n*.log\r\ntests/\r\n",
      "a.log": "",
      "tests/x.py": "",
      "features.py": FEATURES,
      "bad.py": "from svc.features import features\r\n\r\n@features\r\nclass Broken:\r\n    x: Nope[\r\n",
      "q.svc.sql": "-- resolves: user\r\nselect 1\r\n",
    };
    const dir = join(machine.work, "crlf");
    for (const [path, text] of Object.entries(files)) await Bun.write(join(dir, path), text);
    const listed = await machine.svc(["files"], { cwd: dir });
    expect(listed.stdout.trim().split(/\r?\n/)).toEqual([".svcignore", "bad.py", "features.py", "q.svc.sql", "svc.yaml"]);
    const lint = await machine.svc(["lint", "--local"], { cwd: dir });
    expect(lint.exitCode).toBe(1);
    expect(lint.stdout + lint.stderr).toMatch(/bad\.py:5:12/);
    expect(lint.stdout + lint.stderr).toMatch(/q\.svc\.sql:2:8/);
    expect(lint.stdout + lint.stderr).toContain("winget install Python.Python.3.12");
    expect(lint.stdout + lint.stderr).not.toMatch(/\r(?!\n)|\\r/);
    await Bun.write(join(dir, "svc.yaml"), "project: people\r\nenvironments:\r\n  default: {requirements: [}\r\n");
    expect((await machine.svc(["files"], { cwd: dir })).stderr).toMatch(/svc\.yaml:3:\d+/);
  });

  test("names that Windows takes for something else are neither read nor written", async () => {
    const dir = join(machine.work, "names");
    mkdirSync(dir);
    for (const name of ["con.py", "AUX", "nul.tar.gz", "a:b", "dot.", "fine.py", "console.py"]) writeFileSync(join(dir, name), "");
    writeFileSync(join(dir, "svc.yaml"), PROJECT);
    const listed = await machine.svc(["files"], { cwd: dir });
    expect([listed.exitCode, listed.stdout.trim().split(/\r?\n/)]).toEqual([0, ["console.py", "fine.py", "svc.yaml"]]);
    for (const name of ["con.py", "AUX", "nul.tar.gz", "a:b", "dot."]) expect(listed.stderr).toContain(`Skipped ${name}: `);
  });

  test("a query to a server on Linux, with the login below %USERPROFILE%", async () => {
    // A folder that is no project asks the project that the server has.
    const svc = (...args: string[]) => machine.svc(args, { cwd: machine.work });
    const profile = await machine.userProfile();
    await Bun.write(join(profile, ".config", "svc.yml"), login.replaceAll("\n", "\r\n"));
    const config = await svc("config");
    expect(config.stdout).toMatch(/Client ID +client_\w+ +C:\\users\\\w+\\\.config\\svc\.yml/);
    const query = await svc("query", "--in", "user.id=7", "--out", "user.name");
    expect([query.exitCode, query.stdout]).toEqual([0, expect.stringMatching(/user\.name .*user 7/)]);
    const json = await svc("query", "--in", "user.id=8", "--out", "user.name", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ data: [{ field: "user.name", value: "user 8" }] });
    expect((await svc("healthcheck")).exitCode).toBe(0);
    expect((await svc("environment", "default")).exitCode).toBe(0);
    expect(readFileSync(join(profile, ".config", "svc.yml"), "utf8")).toContain("activeEnvironment");
    const source = await svc("source");
    expect([source.exitCode, source.stderr.includes('"aux.py" means something else on this system')]).toEqual([1, true]);
  });

  test("programs in the working directory are not run", async () => {
    const hello = "this is no program";
    for (const name of ["git.exe", "python.exe", "py.exe", "uv.exe", "python3.bat"]) writeFileSync(join(project, name), hello);
    const lint = await svc("lint", "--local");
    expect(lint.stdout + lint.stderr).toContain("py launcher: not installed");
    expect(lint.stdout + lint.stderr).toContain("uv: not installed");
    expect(lint.stdout + lint.stderr).toContain("python on PATH: none");
  });

  test("a file that another program holds is replaced when it lets go", async () => {
    const { stdout, stderr } = await machine.script(join(import.meta.dir, "../disk/rename-held.ts"));
    expect(stderr).toBe("");
    const said = JSON.parse(stdout) as { afterwards: string; waited: number; refusal: string; patience: number; content: string };
    expect([said.afterwards, said.refusal, said.content]).toEqual(["new", "EPERM", "new"]);
    expect(said.waited).toBeGreaterThan(150);
    expect(said.patience).toBeGreaterThan(1_900);
  });

  test("the embedded server starts in the background, answers and stops; Ctrl-C stops it in front", async () => {
    const dataDir = ["--data-dir", "C:\\data"];
    const started = await svc("server", "start", "--detach", "--port", "0", "--json", ...dataDir);
    expect([started.exitCode, started.stderr.includes("fault")]).toEqual([0, false]);
    const made = JSON.parse(started.stdout) as { url: string; client_id: string; client_secret: string };
    const { url } = made;
    expect((await fetch(`${url}/health`)).status).toBe(200);
    const credentials = [
      "--api-host",
      url,
      "--client-id",
      made.client_id,
      "--client-secret",
      made.client_secret,
      "--environment",
      "default",
    ];
    const apply = (cwd: string) => linux.svc(["apply", "--force", "--await", ...credentials], { cwd });
    const refused = await apply(linuxProject);
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining('the path "aux.py" means something else on this system'),
    ]);
    const withoutPython = await apply(await linux.write({ "svc.yaml": PROJECT, "features.py": FEATURES }, "portable"));
    expect([withoutPython.exitCode, withoutPython.stderr]).toEqual([1, expect.stringContaining("winget install Python.Python.3.12")]);
    expect(refused.stderr + withoutPython.stderr).not.toMatch(STACK);
    const kafka = JSON.stringify({ name: "k", kind: "kafka", environment_variables: { KAFKA_BOOTSTRAP_SERVERS: "127.0.0.1:1" } });
    expect((await linux.svc(["integration", "apply", "-f", "-", ...credentials], { input: kafka })).exitCode).toBe(0);
    // The client of Kafka was loaded, with its WebAssembly; Wine does not say that nobody listens.
    const called = /127\.0\.0\.1:1 (cannot be reached|ended the connection)/;
    expect((await linux.svc(["integration", "test", "k", ...credentials])).stdout).toMatch(called);
    expect((await svc("server", "status", ...dataDir)).stdout).toContain(url);
    expect((await svc("server", "stop", ...dataDir)).exitCode).toBe(0);
    expect((await svc("server", "status", ...dataDir)).stdout).toContain("No server runs on C:\\data");

    const inFront = machine.onTerminal(["server", "start", "--port", "0", "--data-dir", "C:\\data2"]);
    await inFront.until("Ctrl-C stops it");
    expect(existsSync(join(machine.drive, "data2", "server.json"))).toBe(true);
    inFront.write("\u0003");
    expect(await inFront.exited).toBe(130);
    expect(existsSync(join(machine.drive, "data2", "server.json"))).toBe(false);
  }, 300_000);

  test("colours on a console, and none when they are not wanted", async () => {
    const red = "\u001b[31m";
    const colored = machine.onTerminal(["files", "--dir", "C:\\windows"]);
    await colored.exited;
    expect(colored.text()).toContain(red);
    const plain = machine.onTerminal(["files", "--dir", "C:\\windows"], { NO_COLOR: "1" });
    await plain.exited;
    expect(plain.text()).toContain("No project file");
    expect(plain.text()).not.toContain(red);
    expect((await svc("files", "--dir", "C:\\windows")).stderr).not.toContain("\u001b");
  });
});
