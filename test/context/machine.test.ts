import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProjectRoot } from "../../src/context/project-root.ts";
import { systemClock } from "../../src/context/system-clock.ts";
import { systemMachine } from "../../src/context/system-machine.ts";
import { CliError, InterruptedError } from "../../src/errors/cli-error.ts";
import { testSurroundings } from "../harness/context.ts";

let dir: string;
const never = new AbortController().signal;
const machine = (env: Record<string, string | undefined> = {}, signal = never) => systemMachine(testSurroundings(env), signal);
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "svc-machine-")));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("files", () => {
  test("are written with their folders, whole, and private ones for the owner alone", async () => {
    const path = join(dir, "a", "b", "secret.yml");
    await machine().writeFile(path, "one", { private: true });
    await machine().writeFile(path, "two", { private: true });
    expect(await machine().readText(path)).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, "a", "b")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(dir, "a", "b"))).toEqual(["secret.yml"]);
  });

  test("that are missing are undefined; other failures say what was tried", async () => {
    expect(await machine().readText(join(dir, "none"))).toBeUndefined();
    expect(await machine().readBytes(join(dir, "none", "at", "all"))).toBeUndefined();
    expect(await machine().exists(dir)).toBe(true);
    await expect(machine().readText(dir)).rejects.toThrow(`cannot read ${dir}: it is a directory`);
    writeFileSync(join(dir, "file"), "");
    await expect(machine().writeFile(join(dir, "file", "below"), "x")).rejects.toThrow("cannot write");
  });

  test("temporary folders are new, and removing what is not there is fine", async () => {
    const [one, two] = [await machine().makeTempDir("svc-t-"), await machine().makeTempDir("svc-t-")];
    expect(one).not.toBe(two);
    for (const folder of [one, two, one]) await machine().remove(folder);
    expect(existsSync(one)).toBe(false);
  });
});

describe("programs", () => {
  test("run with input, folder and environment, and tell their code and output", async () => {
    const script = "cat; pwd; echo $WORD >&2; exit 3";
    const result = await machine().run(["sh", "-c", script], { cwd: dir, env: { WORD: "hello" }, input: "in\n" });
    expect(result).toEqual({ exitCode: 3, stdout: `in\n${dir}\n`, stderr: "hello\n" });
  });

  test("that do not exist are named", async () => {
    await expect(machine().run(["no-such-program-anywhere"])).rejects.toThrow("cannot start no-such-program-anywhere");
    expect(machine().which("no-such-program-anywhere")).toBeUndefined();
    expect(machine().which("sh")).toEndWith("/sh");
  });

  test("end when the command is interrupted", async () => {
    const controller = new AbortController();
    const running = machine({}, controller.signal).run(["sleep", "60"]);
    controller.abort(new InterruptedError(130));
    await expect(running).rejects.toBeInstanceOf(InterruptedError);
  });
});

describe("browser", () => {
  test("only web addresses are opened, and only where there is a browser", async () => {
    const opened = join(dir, "opened");
    const browser = join(dir, "browser");
    writeFileSync(browser, `#!/bin/sh\necho "$1" > '${opened}'\n`);
    chmodSync(browser, 0o755);
    expect(await machine({ BROWSER: browser }).openUrl("http://127.0.0.1/cli/x")).toBe(process.platform === "linux");
    if (process.platform === "linux") expect(await machine().readText(opened)).toBe("http://127.0.0.1/cli/x\n");
    expect(await machine({ BROWSER: browser }).openUrl("file:///etc/passwd")).toBe(false);
    expect(await machine({ BROWSER: browser }).openUrl("file:///etc/passwd", { privately: dir })).toBe(false);
    if (process.platform === "linux") expect(await machine({ PATH: dir }).openUrl("http://127.0.0.1/")).toBe(false);
  });
});

test.skipIf(process.platform !== "linux")(
  "an address with a secret is opened through a private file, and the next one removes those of no use",
  async () => {
    const folder = join(dir, "home", "browser");
    const opened = join(dir, "opened-privately");
    const browser = join(dir, "private-browser");
    writeFileSync(browser, `#!/bin/sh\necho "$1" > '${opened}'\n`);
    chmodSync(browser, 0o755);
    const open = async (url: string) => {
      expect(await machine({ BROWSER: browser }).openUrl(url, { privately: folder })).toBe(true);
      return readFileSync(opened, "utf8").trim();
    };
    const first = await open('http://127.0.0.1:1/enter#code=a&to="><script>');
    expect(first).toMatch(new RegExp(`^${folder}/[0-9a-f-]{36}\\.html$`));
    expect([statSync(folder).mode & 0o777, statSync(first).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(readFileSync(first, "utf8")).toContain('content="0; url=http://127.0.0.1:1/enter#code=a&amp;to=&quot;>&lt;script>"');
    const second = await open("http://127.0.0.1:1/enter#code=b");
    expect(existsSync(first)).toBe(true);
    const longAgo = new Date(Date.now() - 121_000);
    utimesSync(first, longAgo, longAgo);
    const third = await open("http://127.0.0.1:1/enter#code=c");
    expect([first, second, third].map((path) => existsSync(path))).toEqual([false, true, true]);
  },
);

test("a watched folder tells of changes, also in folders made later, once for many", async () => {
  const controller = new AbortController();
  const calls: (readonly string[])[] = [];
  let wake = () => {};
  machine().watch(
    dir,
    (paths) => {
      calls.push(paths);
      wake();
    },
    { signal: controller.signal, debounceMs: 50 },
  );
  const next = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  let told = next();
  for (const name of ["a", "b", "a"]) writeFileSync(join(dir, name), String(Math.random()));
  await told;
  expect(calls).toEqual([[join(dir, "a"), join(dir, "b")]]);
  told = next();
  mkdirSync(join(dir, "later"));
  await told;
  told = next();
  writeFileSync(join(dir, "later", "c"), "x");
  await told;
  expect(calls.at(-1)).toContain(join(dir, "later", "c"));
  controller.abort();
  const before = calls.length;
  const later = new AbortController();
  const seenByAnother = new Promise<void>((resolve) => machine().watch(dir, () => resolve(), { signal: later.signal, debounceMs: 100 }));
  writeFileSync(join(dir, "a"), "after");
  await seenByAnother;
  later.abort();
  expect(calls.length).toBe(before);
});

test("the project's root is the nearest folder above with a project file, links resolved", async () => {
  const root = join(dir, "project");
  mkdirSync(join(root, "deep", "er"), { recursive: true });
  expect(findProjectRoot(join(root, "deep"))).toBeUndefined();
  writeFileSync(join(root, "svc.yml"), "");
  symlinkSync(root, join(dir, "link"));
  expect(findProjectRoot(join(root, "deep", "er"))).toBe(root);
  expect(findProjectRoot(join(dir, "link", "deep"))).toBe(root);
  expect(findProjectRoot(join(dir, "gone", "for", "good"))).toBeUndefined();
});

test("sleep ends early when the signal is aborted", async () => {
  const reason = new CliError("stop");
  const controller = new AbortController();
  const sleeping = systemClock.sleep(60_000, controller.signal);
  controller.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  await expect(systemClock.sleep(1, controller.signal)).rejects.toBe(reason);
  const start = systemClock.now();
  await systemClock.sleep(20);
  expect(systemClock.now() - start).toBeGreaterThanOrEqual(15);
});
