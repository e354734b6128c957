/**
 * Extensions: `svc foo` runs `svc-foo` of PATH, and nothing else becomes a command by lying
 * somewhere.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal } from "../harness/terminal.ts";

const sandbox = new Sandbox();
afterAll(() => sandbox[Symbol.asyncDispose]());

/** Writes a program into a folder of its own or a given one, and returns the folder. */
async function program(name: string, text: string, { mode = 0o755, folder = join(sandbox.root, "extensions") } = {}): Promise<string> {
  await Bun.write(join(folder, name), text);
  chmodSync(join(folder, name), mode);
  return folder;
}

const bin = await program("svc-greet", '#!/bin/sh\nprintf "[%s]" "$0" "$@"; cat; echo said >&2; exit 7\n');
const PATH = `${bin}:${sandbox.env.PATH}`;
const svc = (args: readonly string[], env: Record<string, string> = {}, options: { cwd?: string; input?: string } = {}) =>
  sandbox.svc(args, { env: { PATH, ...env }, ...options });

describe.skipIf(process.platform === "win32")("an extension", () => {
  test("gets its words as they are, stdin, stdout and stderr, and gives its exit code", async () => {
    const words = ["greet", "--json", "-vv", "", "a b", "--", "--help", "*"];
    const said = await svc(words, {}, { input: "from stdin" });
    const given = words.slice(1).map((word) => `[${word}]`);
    expect(said).toEqual({ exitCode: 7, stdout: `[${bin}/svc-greet]${given.join("")}from stdin`, stderr: "said\n" });
  });

  test("gets the environment as it is: neither a login nor anything else is added", async () => {
    const direct = Bun.spawnSync(["env"], { env: { ...sandbox.env, PATH, OWN: "1" } }).stdout.toString();
    const variables = (text: string) =>
      text
        .split("\n")
        .filter((line) => !/^(_|PWD|OLDPWD|SHLVL)=/.test(line))
        .sort();
    await program("svc-surroundings", "#!/bin/sh\nexec env\n");
    expect(variables((await svc(["surroundings"], { OWN: "1" })).stdout)).toEqual(variables(direct));
  });

  test("has the terminal and gets every signal, once", async () => {
    const script = '#!/bin/sh\ntrap "echo got INT" INT\ntrap "echo got TERM; exit 9" TERM\necho ready\nwhile :; do sleep 0.05; done\n';
    await program("svc-hold", script);
    const terminal = Terminal.start(sandbox, ["hold"], { env: { PATH } });
    await terminal.until("ready");
    terminal.press("\u0003");
    await terminal.until("got INT");
    terminal.signal("SIGTERM");
    const { exitCode, screen } = await terminal.ended();
    expect([exitCode, screen.match(/got (INT|TERM)/g)]).toEqual([9, ["got INT", "got TERM"]]);
  });

  test("dies of a signal as a program does that was started itself", async () => {
    await program("svc-die", "#!/bin/sh\nkill -KILL $$\n");
    const child = Bun.spawn([sandbox.binary, "die"], { env: { ...sandbox.env, PATH }, stdio: ["ignore", "ignore", "ignore"] });
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("stands in help, in its JSON and in completion, and has its own help", async () => {
    expect((await svc(["--help"])).stdout).toMatch(new RegExp(`\nExtensions\n(  .*\n)*  greet +${bin}/svc-greet\n`));
    const tree = JSON.parse((await svc(["help", "--json"])).stdout) as { extensions: unknown[] };
    expect(tree.extensions).toContainEqual({ name: "greet", path: `${bin}/svc-greet` });
    expect((await svc(["help", "--all"])).stdout).toContain("svc greet");
    expect((await svc(["__complete", "gre"])).stdout).toBe(`greet\textension: ${bin}/svc-greet\n:none\n`);
    expect((await svc(["__complete", "greet", ""])).stdout).toBe(":files\n");
    expect((await svc(["help", "greet"])).stderr).toContain("svc greet --help");
    expect((await sandbox.svc(["--help"])).stdout).not.toContain("Extensions");
  });
});

describe.skipIf(process.platform === "win32")("no command is", () => {
  test("a program with the name of one of svc, of its alias, its singular or its plural", async () => {
    for (const name of ["apply", "env", "whoami", "releases", "release", "feature", "help"])
      await program(`svc-${name}`, "#!/bin/sh\necho SHADOW\n");
    for (const name of ["apply", "env", "whoami", "releases", "release", "feature", "help"]) {
      const { stdout, stderr } = await svc([name]);
      expect([name, stdout + stderr]).toEqual([name, expect.not.stringContaining("SHADOW")]);
    }
    expect((await svc(["--help"])).stdout).not.toContain(`${bin}/svc-apply`);
  });

  test("what lies in the working directory, however PATH leads there", async () => {
    const cwd = join(sandbox.work, "trap");
    await program("svc-trap", "#!/bin/sh\necho TRAPPED\n", { folder: cwd });
    await program("svc-trap", "#!/bin/sh\necho TRAPPED\n", { folder: join(cwd, "bin") });
    for (const path of [".", "", "./", "..//trap", "bin", `:${PATH}`, `${PATH}:`, `.:${PATH}`]) {
      const { exitCode, stdout, stderr } = await svc(["trap"], { PATH: path }, { cwd });
      expect([path, exitCode, stdout, stderr.includes("unknown command 'svc trap'")]).toEqual([path, 2, "", true]);
      expect([path, (await svc(["--help"], { PATH: path }, { cwd })).stdout.includes("svc-trap")]).toEqual([path, false]);
    }
  });

  test("a path, a flag, or a name with other characters", async () => {
    await program("evil", "#!/bin/sh\necho EVIL\n", { folder: join(bin, "svc-x") });
    for (const word of ["x/evil", "../extensions/svc-greet", "GREET", "gr\u001b[31met", "-greet", "greet.sh", "greet\n", ""]) {
      const { exitCode, stdout } = await svc([word]);
      expect([word, exitCode === 7, stdout.includes("EVIL")]).toEqual([word, false, false]);
    }
  });

  test("a folder, a file that may not be run, or a link to nothing", async () => {
    mkdirSync(join(bin, "svc-folder"), { recursive: true });
    await program("svc-text", "#!/bin/sh\n", { mode: 0o644 });
    symlinkSync("/nowhere", join(bin, "svc-gone"));
    for (const word of ["folder", "text", "gone"]) expect([word, (await svc([word])).exitCode]).toEqual([word, 2]);
  });
});

test.skipIf(process.platform === "win32")("a program that cannot be started is an error that names it, as JSON too", async () => {
  await program("svc-blank", "echo no first line\n");
  await program("svc-lost", "#!/no/such/program\n");
  for (const word of ["blank", "lost"]) {
    const { exitCode, stdout, stderr } = await svc([word]);
    expect([exitCode, stdout, stderr]).toEqual([
      1,
      "",
      expect.stringMatching(new RegExp(`^Error: cannot start ${bin}/svc-${word}: .*\n.*#!/bin/sh.*\n$`)),
    ]);
    expect(JSON.parse((await svc([word, "--json"])).stderr)).toMatchObject({ error: { code: "program_unusable" } });
  }
});

test("a misspelt command is still told from what it may be, and as JSON", async () => {
  const { exitCode, stderr } = await svc(["aply"]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("did you mean 'svc apply'")]);
  expect(JSON.parse((await svc(["aply", "--json"])).stderr)).toMatchObject({ error: { code: "usage" } });
});
