/**
 * The binary where files, variables and limits of its surroundings are against it: it works, or
 * says in words why not.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lacks, lacksNamespaces, lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const isLinux = process.platform === "linux";
const faketime = [...new Bun.Glob("/usr/lib/*/faketime/libfaketime.so.1").scanSync("/")][0];
const lacksMounts = lacksNamespaces("-rm");
const lacksFaketime = lacks("libfaketime", faketime !== undefined);

/**
 * What no user may see: a stack of JavaScript, the runtime's own crash, an error that nobody
 * foresaw.
 */
const BROKEN = /\n\s+at .*[(:]\d+:\d+|fault in svc|panic|has crashed|TypeError|RangeError/;

const PROJECT = {
  "svc.yaml": "project: people\nenvironments:\n  default: {}\n",
  "features.py": "from svc.features import features\n\n@features\nclass User:\n    id: int\n",
};

let sandbox: Sandbox;
let project: string;
let marker: string;
beforeAll(async () => {
  sandbox = new Sandbox();
  sandbox.isFirstUseOwn = true;
  project = await sandbox.write(PROJECT);
  marker = join(sandbox.root, "marker");
  await Bun.write(join(sandbox.root, "evil.js"), `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "ran");`);
});
afterAll(() => sandbox[Symbol.asyncDispose]());

test.skipIf(lacksProgram("strace"))("of a hostile working directory, nothing is opened but what belongs to a project", async () => {
  const evil = 'require("node:fs").writeFileSync("marker", "ran");';
  const dir = await sandbox.write(
    {
      ...PROJECT,
      "evil.js": evil,
      "bunfig.toml": 'preload = ["./evil.js"]\n[run]\npreload = ["./evil.js"]\n',
      ".env": "SVC_API_SERVER=http://evil.example\nSVC_CLIENT_ID=evil\nHTTPS_PROXY=http://evil.example\nNODE_TLS_REJECT_UNAUTHORIZED=0\n",
      ".env.local": "SVC_CLIENT_ID=evil\n",
      ".env.production": "SVC_CLIENT_ID=evil\n",
      ".npmrc": "registry=http://evil.example\n",
      "package.json": '{"type": "commonjs", "imports": {"#x": "./evil.js"}, "bun": {"preload": "./evil.js"}}',
      "bun.lock": "{}",
      "tsconfig.json": '{"compilerOptions": {"paths": {"*": ["./evil.js"]}}}',
      "jsconfig.json": '{"compilerOptions": {"paths": {"*": ["./evil.js"]}}}',
      "node_modules/yaml/index.js": evil,
      "node_modules/citty/index.js": evil,
      "node_modules/citty/package.json": '{"main": "index.js"}',
    },
    "hostile",
  );
  const belongs = /\/hostile\/?$|\/(svc\.ya?ml|\.svcignore|\.gitignore|\.git|[^/]+\.py|[^/]+\.sql|__pycache__(\/.*)?)$/;
  for (const args of [["version"], ["help"], ["config"], ["project"], ["files"], ["lint", "--local"], ["update", "--list"]]) {
    const trace = join(sandbox.root, "trace");
    const calls = "trace=open,openat,openat2,execve,readlink,connect";
    const child = Bun.spawnSync(["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-e", calls, "-o", trace, sandbox.binary, ...args], {
      cwd: dir,
      env: { ...sandbox.env, NODE_ENV: "production" },
    });
    expect([args, child.exitCode, child.stderr.toString().match(BROKEN)]).toEqual([args, 0, null]);
    const below = readFileSync(trace, "utf8")
      .split("\n")
      .filter((line) => /\b(open|openat|openat2|execve)\(/.test(line) && !/ENOENT|\/node_modules\b.*O_DIRECTORY/.test(line))
      .map((line) => pathOf(line, dir))
      .filter((path) => path?.startsWith(dir));
    expect([args, below.filter((path) => !belongs.test(path ?? ""))]).toEqual([args, []]);
    if (args[0] === "files") expect(below).toContain(join(dir, "svc.yaml"));
    expect(existsSync(join(dir, "marker"))).toBe(false);
    expect(child.stdout.toString()).not.toContain("evil.example");
  }
});

/**
 * The path of a traced call, made absolute by the folder that strace shows behind the descriptor.
 */
function pathOf(line: string, cwd: string): string | undefined {
  const [, folder, path] = /\((?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"/.exec(line) ?? [];
  if (path === undefined) return undefined;
  return path.startsWith("/") ? path : join(folder ?? cwd, path);
}

/**
 * The inspector's variables end the program: it takes no code from strings. The others do nothing.
 */
test("nothing that variables of the runtime name is loaded", async () => {
  const script = join(sandbox.root, "evil.js");
  const config = join(sandbox.root, "evil.toml");
  await Bun.write(config, `preload = [${JSON.stringify(script)}]\n`);
  const variables: Record<string, string>[] = [
    ...["--preload", "--require", "--import", "-r"].map((flag) => ({ BUN_OPTIONS: `${flag} ${script}` })),
    ...[`--preload=${script}`, `--config=${config}`, `-e "require('${script}')"`, `--eval=require('${script}')`].map((text) => ({
      BUN_OPTIONS: text,
    })),
    { NODE_OPTIONS: `--require ${script}` },
    { NODE_OPTIONS: `--import ${script}` },
    { BUN_PRELOAD: script },
    { BUN_CONFIG: config },
    { NODE_PATH: sandbox.root },
    { BUN_INSPECT_PRELOAD: script },
    { BUN_INSPECT: "ws+unix:///nonexistent", BUN_INSPECT_PRELOAD: script },
    { XDG_CONFIG_HOME: sandbox.root },
  ];
  for (const env of variables) {
    const outcome = await sandbox.svc(["version", "--tag-only"], { env, timeoutMs: 300_000 });
    expect([env, existsSync(marker)]).toEqual([env, false]);
    if (!Object.keys(env).some((name) => name.startsWith("BUN_INSPECT")))
      expect([env, outcome.exitCode, outcome.stderr]).toEqual([env, 0, ""]);
  }
});

test("programs and modules of the working directory are not run for those of the same name", async () => {
  const planted = `#!/bin/sh\n: > ${marker}\n`;
  const module = `open(${JSON.stringify(marker)}, "w").close()\n`;
  const programs = Object.fromEntries(["python3", "python", "git", "sh", "less", "diff", "uv"].map((name) => [name, planted]));
  const modules = Object.fromEntries(["json", "re", "os", "sitecustomize", "usercustomize", "svc"].map((name) => [`${name}.py`, module]));
  const bare = await sandbox.write({ ...programs, ...modules }, "planted");
  const dir = await sandbox.write({ ...PROJECT, ...programs }, "planted-project");
  const shadowed = await sandbox.write({ ...PROJECT, "json.py": module, "re.py": module }, "shadowed");
  for (const folder of [bare, dir]) for (const name of Object.keys(programs)) chmodSync(join(folder, name), 0o755);
  const run = async (cwd: string, args: readonly string[]) => {
    const { exitCode, stdout, stderr } = await sandbox.svc(args, { cwd });
    expect([cwd, args, existsSync(marker), stderr.match(BROKEN)]).toEqual([cwd, args, false, null]);
    return { exitCode, text: stdout + stderr };
  };
  for (const args of [["version"], ["config"], ["doctor"], ["server", "status"]]) await run(bare, args);
  for (const args of [["files"], ["project"], ["apply", "--force"]]) await run(dir, args);
  expect((await run(dir, ["lint", "--local"])).exitCode).toBe(0);
  const refused = await run(shadowed, ["lint", "--local"]);
  expect([refused.exitCode, refused.text]).toEqual([1, expect.stringMatching(/json\.py|'json'/)]);
}, 300_000);

test("variables of interpreters, of git and of the system run nothing, print no secret and end no command without a word", async () => {
  const evil = join(sandbox.root, "evil-python");
  const module = `open(${JSON.stringify(marker)}, "w").close()\n`;
  for (const name of ["json", "sitecustomize", "usercustomize", "features"]) await Bun.write(join(evil, `${name}.py`), module);
  await Bun.write(join(evil, "a-file"), "");
  const secret = "svcs_CANARY_of_variables";
  const variables: Readonly<Record<string, string>>[] = [
    { PYTHONPATH: evil },
    { PYTHONSTARTUP: join(evil, "json.py") },
    { PYTHONHOME: evil },
    { PYTHONUSERBASE: evil },
    { PYTHONINSPECT: "1" },
    { PYTHONBREAKPOINT: "json.loads" },
    { PYTHONPLATLIBDIR: "../../evil-python" },
    { PYTHONPYCACHEPREFIX: evil },
    { PYTHONDONTWRITEBYTECODE: "1" },
    { PYTHONOPTIMIZE: "2" },
    { PYTHONWARNINGS: "error" },
    { PYTHONVERBOSE: "1" },
    { PYTHONIOENCODING: "utf-16" },
    { PYTHONUTF8: "0", LC_ALL: "C" },
    { PYTHONMALLOC: "debug" },
    { VIRTUAL_ENV: evil },
    { BUN_JSC_useJIT: "0" },
    { BUN_JSC_dumpOptions: "1" },
    { JSC_useJIT: "0" },
    { JSC_validateOptions: "1" },
    { BUN_CONFIG_VERBOSE_FETCH: "curl" },
    { BUN_INSTALL: evil },
    { BUN_RUNTIME_TRANSPILER_CACHE_PATH: evil },
    { BUN_GARBAGE_COLLECTOR_LEVEL: "2" },
    { NODE_DEBUG: "http,net,fs" },
    { NODE_EXTRA_CA_CERTS: join(evil, "a-file") },
    { NODE_V8_COVERAGE: evil },
    { NODE_REPL_EXTERNAL_MODULE: join(evil, "json.py") },
    { SSL_CERT_FILE: join(evil, "a-file") },
    { SSLKEYLOGFILE: join(evil, "keys") },
    { GIT_DIR: evil },
    { GIT_EXEC_PATH: evil },
    { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.fsmonitor", GIT_CONFIG_VALUE_0: `touch ${marker}` },
    { GIT_EXTERNAL_DIFF: `touch ${marker}` },
    { PAGER: `touch ${marker}`, EDITOR: `touch ${marker}`, BROWSER: `touch ${marker}` },
    { TMPDIR: join(evil, "a-file") },
    { TZ: "../../../etc/passwd" },
    { TZ: ":\u00ff" },
    { LANG: "x".repeat(5_000) },
    { COLUMNS: "0" },
    { COLUMNS: "-1" },
    { COLUMNS: "99999999999" },
    { LINES: "x" },
    { SHELL: "/nonexistent", USER: "", LOGNAME: "\u001b[31m" },
    { NO_COLOR: "1", FORCE_COLOR: "3", CLICOLOR_FORCE: "1", CI: "1" },
  ];
  for (const env of variables) {
    const given = { ...env, SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: secret, SVC_API_SERVER: "http://127.0.0.1:9" };
    const commands = [["config"], ["files"], ["lint", "--local"], ["user"]];
    const outcomes = await Promise.all(commands.map((args) => sandbox.svc(args, { cwd: project, env: given })));
    for (const [i, { exitCode, stdout, stderr }] of outcomes.entries()) {
      const args = commands[i];
      expect([env, args, exitCode === 0 || exitCode === 1, (stdout + stderr).match(BROKEN)]).toEqual([env, args, true, null]);
      expect([env, args, stdout + stderr]).toEqual([env, args, expect.not.stringContaining(secret)]);
      if (exitCode === 1) expect([env, args, stdout + stderr]).not.toEqual([env, args, ""]);
    }
    expect([env, existsSync(marker)]).toEqual([env, false]);
  }
}, 300_000);

test("project and config files that are bombs of aliases, or no text, are said to be wrong", async () => {
  const levels = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(", ")}]`);
  const bomb = `a0: &a0 x\n${levels.join("\n")}\nproject: *a30\n`;
  const files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>> = {
    aliases: bomb,
    merges: `a: &a {b: 1}\n${Array.from({ length: 6_000 }, (_, i) => `c${i}: {<<: *a}`).join("\n")}\nproject: [*a]\n`,
    "a circle": "project: &a [*a]\n",
    bytes: Uint8Array.from({ length: 3_000 }, (_, i) => (i * 7_919) & 0xff),
    zeros: new Uint8Array(10_000),
    "a tag": 'project: !!js/function "function () {}"\nx: !!python/object/apply:os.system [touch]\n',
  };
  for (const [name, content] of Object.entries(files)) {
    const dir = join(sandbox.work, `yaml-${name.replaceAll(" ", "-")}`);
    await Bun.write(join(dir, "svc.yaml"), content);
    for (const args of [["files"], ["lint", "--local"], ["config", "--auth-config", join(dir, "svc.yaml")]]) {
      const { exitCode, stdout, stderr } = await sandbox.svc(args, { cwd: dir, timeoutMs: 300_000 });
      const text = stdout + stderr;
      expect([name, args, exitCode === 0 || exitCode === 1, text.match(BROKEN), text.length < 100_000]).toEqual([
        name,
        args,
        true,
        null,
        true,
      ]);
      if (args[0] === "lint") expect([name, exitCode]).toEqual([name, 1]);
    }
  }
}, 300_000);

test("BUN_BE_BUN makes the binary the runtime that it carries, as it does every program built with it", async () => {
  const outcome = await sandbox.svc(["--version"], { env: { BUN_BE_BUN: "1" } });
  expect(outcome.stdout.trim()).toBe(Bun.version);
});

/** A command's surroundings: its environment, and the shell words that come before it. */
interface Surroundings {
  readonly env?: Record<string, string | undefined>;
  readonly before?: string;
  readonly isAbsent?: boolean;
}

const mounted = (options: string, then: string): string => `mount -t tmpfs ${options} none "$HOME" && ${then} && exec "$@"`;

const SURROUNDINGS: Record<string, Surroundings> = {
  "no HOME": { env: { HOME: undefined } },
  "an empty HOME": { env: { HOME: "" } },
  "a HOME that does not exist": { env: { HOME: "/proc/nonexistent/home" } },
  "a HOME that is a device": { env: { HOME: "/dev/null" } },
  "a HOME that may only be read": { before: mounted("", 'mount -o remount,bind,ro "$HOME"'), isAbsent: lacksMounts },
  "a HOME that is full": {
    before: mounted("-o size=64k", '{ head -c 99999 /dev/zero > "$HOME/f" || :; } 2>/dev/null'),
    isAbsent: lacksMounts,
  },
  "a working directory that was deleted": { before: 'mkdir gone-$$ && cd gone-$$ && rmdir ../gone-$$ && exec "$@"' },
  "no temporary folder": { env: { TMPDIR: "/nonexistent" } },
  "no space in the temporary folder": {
    env: { TMPDIR: "/tmp" },
    before: 'mount -t tmpfs -o size=64k none /mnt && { head -c 99999 /dev/zero > /mnt/f || :; } 2>/dev/null; TMPDIR=/mnt exec "$@"',
    isAbsent: lacksMounts,
  },
  "LANG=C": { env: { LANG: "C", LC_ALL: "C" } },
  "a locale that does not exist": { env: { LANG: "xx_XX.KOI8", LC_ALL: "xx_XX.KOI8" } },
  "TERM=dumb and 40 columns": { env: { TERM: "dumb", COLUMNS: "40" } },
  "the year 1970": { env: { FAKETIME: "@1970-01-01 00:00:10" }, isAbsent: lacksFaketime },
  "the year 2040": { env: { FAKETIME: "@2040-02-02 00:00:00" }, isAbsent: lacksFaketime },
  "the year 2106": { env: { FAKETIME: "@2106-02-08 00:00:00" }, isAbsent: lacksFaketime },
  "10 open files": { before: 'ulimit -n 10; exec "$@"' },
  "24 open files": { before: 'ulimit -n 24; exec "$@"' },
  "a working directory of 5,000 characters": {
    before: 'i=0; while [ $i -lt 25 ]; do mkdir -p "$(printf %0200d $i)" && cd "$(printf %0200d $i)"; i=$((i+1)); done; exec "$@"',
  },
  "64 open files": { before: 'ulimit -n 64; exec "$@"' },
  "files of no size": { before: 'ulimit -f 0; exec "$@"' },
  "no PATH": { env: { PATH: undefined }, before: 'unset PATH; exec "$@"' },
  "closed streams": { before: 'exec "$@" 0<&- 1<&- 2<&-' },
};

const COMMANDS: readonly (readonly string[])[] = [
  ["version"],
  ["help"],
  ["config"],
  ["init"],
  ["files"],
  ["query", "--in", "user.id=1", "--out", "user.name"],
  ["user", "--client-id", "id", "--client-secret", "secret", "--api-host", "http://127.0.0.1:9"],
  ["update", "--list"],
  ["releases", "list"],
  ["changelog"],
  ["doctor"],
  ["server", "status"],
];

describe("every command, with", () => {
  for (const [name, { env = {}, before, isAbsent = false }] of Object.entries(SURROUNDINGS))
    test.skipIf(!isLinux || isAbsent)(name, async () => {
      const preload = env.FAKETIME === undefined ? {} : { LD_PRELOAD: faketime };
      const prefix = before === undefined ? [] : [...(before.includes("mount") ? ["unshare", "-rm"] : []), "/bin/sh", "-c", before, "sh"];
      for (const args of COMMANDS) {
        const child = Bun.spawn([...prefix, sandbox.binary, ...args], {
          cwd: project,
          env: { ...sandbox.env, ...preload, ...env },
          stdin: "ignore",
          stdout: "pipe",
          stderr: "pipe",
          timeout: 300_000,
          killSignal: "SIGKILL",
        });
        const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
        const exitCode = await child.exited;
        expect([args, [0, 1, 2, 4].includes(exitCode) ? "ended" : exitCode, stderr.match(BROKEN)]).toEqual([args, "ended", null]);
        if (args[0] === "help" && name !== "closed streams" && !name.startsWith("files"))
          expect([exitCode, stdout.includes("apply")]).toEqual([0, true]);
        if (exitCode !== 0 && name !== "closed streams") expect([args, stdout + stderr]).not.toEqual([args, ""]);
      }
    });
});

test.skipIf(!isLinux)("a terminal of 40 columns, one that is dumb, and narrower ones than there are", async () => {
  const terminals = [
    { env: { TERM: "xterm-256color" }, cols: 40 },
    { env: { TERM: "dumb" }, cols: 40 },
    ...[0, 1, 10].map((cols) => ({ env: { TERM: "xterm-256color" }, cols })),
  ];
  for (const { env, cols } of terminals)
    for (const args of COMMANDS) {
      let shown = "";
      const child = Bun.spawn([sandbox.binary, ...args], {
        cwd: project,
        env: { ...sandbox.env, ...env, PAGER: "cat" },
        timeout: 300_000,
        terminal: {
          cols,
          rows: 10,
          data(terminal, chunk) {
            shown += chunk.toString();
            if (args[0] === "changelog") terminal.write("q");
          },
        },
      });
      const exitCode = await child.exited;
      expect([args, [0, 1, 2, 4].includes(exitCode), shown.match(BROKEN)]).toEqual([args, true, null]);
      if (env.TERM === "dumb" && args[0] !== "changelog") expect([args, shown.includes("\u001b[3")]).toEqual([args, false]);
    }
});

describe("the embedded server deploys and answers, with", () => {
  const QUERY = ["query", "--in", "user.id=7", "--out", "user.name"];
  const RESOLVER = `${PROJECT["features.py"]}    name: str\n\nfrom svc import online\n\n@online\ndef get_name(id: User.id) -> User.name:\n    return f"user {id}"\n`;
  const serving: [string, Record<string, string | undefined>, string][] = [
    ["64 open files", {}, 'ulimit -n 64; exec "$@"'],
    ["LANG=C and no HOME", { LANG: "C", LC_ALL: "C", HOME: undefined }, ""],
  ];
  const clock: typeof serving = [["a clock that is decades behind", { LD_PRELOAD: faketime, FAKETIME: "-50y" }, ""]];
  test.skipIf(!isLinux).each(serving)("%s", answers);
  test.skipIf(!isLinux || lacksFaketime).each(clock)("%s", answers);

  async function answers(_name: string, env: Record<string, string | undefined>, before: string): Promise<void> {
    await using machine = new Sandbox();
    machine.isFirstUseOwn = true;
    const dir = await machine.write({ ...PROJECT, "features.py": RESOLVER });
    const files = ["--auth-config", join(machine.root, "login.yml")];
    const data = ["--data-dir", join(machine.root, "data")];
    const run = async (...args: string[]) => {
      const argv = [...(before === "" ? [] : ["/bin/sh", "-c", before, "sh"]), machine.binary, ...args];
      const child = Bun.spawn(argv, {
        cwd: dir,
        env: { ...machine.env, SVC_HOME: join(machine.root, "svc home"), ...env },
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
      return { exitCode: await child.exited, said: stdout + stderr };
    };
    expect(await run("server", "start", "--detach", "--port", "0", ...data, ...files)).toMatchObject({ exitCode: 0 });
    try {
      expect(await run("apply", "--force", "--await", ...files)).toMatchObject({ exitCode: 0 });
      expect(await run(...QUERY, ...files)).toEqual({ exitCode: 0, said: expect.stringContaining("user 7") });
    } finally {
      expect(await run("server", "stop", ...data)).toMatchObject({ exitCode: 0 });
    }
  }
});
