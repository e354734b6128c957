/**
 * PATH: the file that the user's shell reads gets one line, once; new shells find svc by it;
 * --uninstall takes exactly it away.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram } from "../harness/needs.ts";
import { builtFeed } from "../harness/release-feed.ts";
import { InstallMachine } from "./machine.ts";

/** Tests wait for their turn. */
setDefaultTimeout(300_000);

const feed = await builtFeed();
const FROM = ["--from", feed.dir];

interface Shell {
  readonly name: string;
  /** Its start file, below HOME. */
  readonly file: string;
  /** Starts it so that it reads that file. */
  readonly argv: readonly string[];
  readonly env?: (home: string) => Record<string, string>;
}

const SHELLS: readonly Shell[] = [
  { name: "bash", file: ".bashrc", argv: ["-ic"] },
  { name: "zsh", file: ".zshrc", argv: ["-ic"] },
  { name: "zsh", file: "dots/.zshrc", argv: ["-ic"], env: (home) => ({ ZDOTDIR: join(home, "dots") }) },
  { name: "fish", file: ".config/fish/conf.d/svc.fish", argv: ["-c"] },
  { name: "fish", file: "xdg/fish/conf.d/svc.fish", argv: ["-c"], env: (home) => ({ XDG_CONFIG_HOME: join(home, "xdg") }) },
  { name: "dash", file: ".profile", argv: ["-lc"] },
  { name: "mksh", file: ".profile", argv: ["-lc"] },
];

/** What a new shell of the user runs as `svc`. */
function found({ name, argv, env }: Shell, home: string): string {
  const shell = Bun.spawnSync([name, ...argv, "command -v svc"], {
    env: { HOME: home, PATH: "/usr/bin:/bin", ...env?.(home) },
    cwd: home,
    stdin: "ignore",
  });
  return shell.stdout.toString().trim();
}

for (const shell of SHELLS)
  test.skipIf(lacksProgram(shell.name)).concurrent(`${shell.name} reads ${shell.file}`, async () => {
    using machine = new InstallMachine(feed, {}, "ho me's");
    const env = { SHELL: `/usr/bin/${shell.name}`, ...shell.env?.(machine.home) };
    const own = shell.name === "fish" ? undefined : "# mine\n: nothing";
    const path = join(machine.home, shell.file);
    if (own !== undefined) {
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, own, { mode: 0o640 });
    }
    const outcome = await machine.install(FROM, { env });
    expect(outcome.exitCode).toBe(0);
    expect(outcome.stderr).toContain(`Added ${machine.dir} to PATH in ${path}, for new terminals.`);
    expect(found(shell, machine.home)).toBe(join(machine.dir, "svc"));
    const text = readFileSync(path, "utf8");
    expect(text.startsWith(own ?? "")).toBe(true);
    expect(text.match(/added by the installer of svc/g)).toHaveLength(1);

    expect((await machine.install(FROM, { env })).stderr).not.toContain("Added");
    expect(readFileSync(path, "utf8")).toBe(text);
    await machine.install(["--uninstall"], { env });
    if (own === undefined) expect(machine.files().filter((line) => line.includes("svc"))).toEqual([]);
    else {
      expect(readFileSync(path, "utf8")).toBe(`${own}\n`);
      expect(statSync(path).mode & 0o777).toBe(0o640);
    }
  });

test.concurrent("what it says to type works in the terminal it is said in", async () => {
  using machine = new InstallMachine(feed, {}, "it's a home");
  for (const [shell, prefix] of [
    ["/bin/sh", "export "],
    ["/usr/bin/fish", "set -gx "],
  ] as const) {
    const { stderr } = await machine.install([...FROM, "--no-modify-path"], { env: { SHELL: shell } });
    const line = /^To use svc in this terminal: (.*)$/m.exec(stderr)?.[1] ?? "";
    expect(line.startsWith(prefix)).toBe(true);
    if (lacksProgram(shell)) continue;
    const said = Bun.spawnSync([shell, "-c", `${line}\nsvc version --tag-only`], { env: { HOME: machine.home, PATH: "/usr/bin:/bin" } });
    expect(said.stdout.toString()).toBe("v0.3.0\n");
  }
});

describe("no start file is touched", () => {
  test.concurrent("with --no-modify-path, or when the folder is on PATH", async () => {
    using machine = new InstallMachine(feed);
    const env = { PATH: `${process.env.PATH}:${machine.dir}` };
    const outcome = await machine.install(FROM, { env });
    expect(outcome).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("To use svc") });
    expect((await machine.install([...FROM, "--no-modify-path"])).exitCode).toBe(0);
    expect(machine.files().filter((line) => !line.startsWith(".svc"))).toEqual([]);
  });
});

test.concurrent("a start file that is a link stays one, and two folders have a line each", async () => {
  using machine = new InstallMachine(feed);
  const dots = join(machine.home, "dots");
  mkdirSync(dots);
  writeFileSync(join(dots, "profile"), "# mine\n");
  symlinkSync("dots/profile", join(machine.home, ".profile"));
  const other = join(machine.root, "other");
  await machine.install(FROM);
  await machine.install([...FROM, "--dir", other]);
  const both = readFileSync(join(dots, "profile"), "utf8");
  expect(both.match(/added by the installer of svc/g)).toHaveLength(2);
  await machine.install(["--uninstall"]);
  const one = readFileSync(join(dots, "profile"), "utf8");
  expect(one).toContain(other);
  expect(one).not.toContain(machine.dir);
  await machine.install(["--uninstall", "--dir", other]);
  expect(readFileSync(join(dots, "profile"), "utf8")).toBe("# mine\n");
  expect(machine.files()).toEqual([".profile -> dots/profile", "dots/", "dots/profile 7 644"]);
});
