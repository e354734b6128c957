/**
 * What the installer puts beside the binary: manual pages and completions, where they are looked
 * for, and only what is svc's goes again.
 */

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { builtFeed } from "../harness/release-feed.ts";
import { ReleaseHost, TestAuthority } from "../harness/release-host.ts";
import { DOWNLOADING, InstallMachine, lacksTools } from "./machine.ts";

setDefaultTimeout(300_000);

const feed = await builtFeed();
const authority = TestAuthority.make();
const host = await ReleaseHost.serve(feed.dir, { authority });
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  authority?.[Symbol.dispose]();
});

const MANUAL = { SVC_NO_MANUAL: "" };
const FROM = ["--from", host.url];
const newMachine = () => new InstallMachine(feed, authority?.env);
const pageOf = (machine: InstallMachine) => join(machine.home, ".svc/share/man/man1/svc.1");
const bashWords = (machine: InstallMachine) => join(machine.home, ".local/share/bash-completion/completions/svc");
const fishWords = (machine: InstallMachine) => join(machine.home, ".config/fish/completions/svc.fish");

describe.skipIf(lacksTools(DOWNLOADING))("install.sh", () => {
  test("writes pages of its version and completions, and --uninstall leaves nothing of them", async () => {
    using machine = newMachine();
    const { exitCode, stderr } = await machine.install(FROM, { env: MANUAL });
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`Manual pages are in ${dirname(pageOf(machine))}`)]);
    expect(readFileSync(pageOf(machine), "utf8")).toContain("v0.3.0");
    expect(existsSync(join(dirname(pageOf(machine)), "svc-apply.1"))).toBe(true);
    expect(readFileSync(bashWords(machine), "utf8")).toStartWith("# bash completion for svc");
    if (Bun.which("fish")) expect(readFileSync(fishWords(machine), "utf8")).toStartWith("# fish completion for svc");
    expect(await machine.install(["--uninstall"], { env: MANUAL })).toMatchObject({ exitCode: 0 });
    expect(machine.files().filter((path) => !path.endsWith("/"))).toEqual([]);
    expect(existsSync(join(machine.home, ".svc"))).toBe(false);
  });

  test.each([
    ["--no-manual", ["--no-manual"], MANUAL],
    ["SVC_NO_MANUAL", [], { SVC_NO_MANUAL: "1" }],
    ["--dir", ["--dir", "elsewhere"], MANUAL],
  ] as const)("with %s writes nothing but svc", async (_, words, env) => {
    using machine = newMachine();
    expect((await machine.install([...FROM, ...words], { env })).exitCode).toBe(0);
    expect(machine.files().filter((path) => /share|fish/.test(path))).toEqual([]);
    expect(existsSync(join(machine.root, "elsewhere/share"))).toBe(false);
  });

  test("leaves a completion of somebody else alone, and says what it cannot write", async () => {
    using machine = newMachine();
    const own = "# mine\n";
    mkdirSync(dirname(bashWords(machine)), { recursive: true });
    writeFileSync(bashWords(machine), own);
    mkdirSync(join(machine.home, ".svc/share"), { recursive: true });
    writeFileSync(join(machine.home, ".svc/share/man"), "in the way\n");
    const { exitCode, stderr } = await machine.install(FROM, { env: MANUAL });
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`warning: cannot write manual pages to ${dirname(pageOf(machine))}`)]);
    expect(machine.version()).toBe("v0.3.0");
    expect((await machine.install(["--uninstall"], { env: MANUAL })).exitCode).toBe(0);
    expect(readFileSync(bashWords(machine), "utf8")).toBe(own);
  });
});

test.skipIf(lacksTools(DOWNLOADING))(
  "svc update and its way back write the pages anew where the installer put them, and nowhere else",
  async () => {
    using machine = newMachine();
    await machine.install([...FROM, "--version", "v0.2.0"], { env: MANUAL });
    const svc = (...words: string[]) => {
      const env = { ...authority?.env, HOME: machine.home, PATH: process.env.PATH };
      return Bun.spawn([join(machine.dir, "svc"), ...words], { env, stdio: ["ignore", "ignore", "ignore"] }).exited;
    };
    expect(readFileSync(pageOf(machine), "utf8")).toContain("v0.2.0");
    expect(await svc("update")).toBe(0);
    expect(readFileSync(pageOf(machine), "utf8")).toContain("v0.3.0");
    expect(await svc("update", "--rollback")).toBe(0);
    expect(readFileSync(pageOf(machine), "utf8")).toContain("v0.2.0");
    rmSync(join(machine.home, ".svc/share"), { recursive: true });
    expect(await svc("update")).toBe(0);
    expect(existsSync(join(machine.home, ".svc/share"))).toBe(false);
  },
);
