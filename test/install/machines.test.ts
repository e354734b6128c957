/**
 * The installer on machines of many kinds: their shells, tools, folders, limits, and what is there
 * before it comes.
 */

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtFeed } from "../harness/release-feed.ts";
import { ReleaseHost, stalls, TestAuthority } from "../harness/release-host.ts";
import type { Outcome } from "../harness/sandbox.ts";
import { lightFeed } from "./light-feed.ts";
import { DOWNLOADING, InstallMachine, lacksTools } from "./machine.ts";

/** Tests wait for their turn. */
setDefaultTimeout(300_000);

const root = mkdtempSync(join(tmpdir(), "svc-machines-"));
/** Real builds, which every shell and every tool has to cope with. */
const real = await builtFeed();
const feed = await lightFeed(real, join(root, "feed"));
const authority = TestAuthority.make();
const realHost = await ReleaseHost.serve(real.dir, { authority });
const realPlainHost = await ReleaseHost.serve(real.dir);
const host = await ReleaseHost.serve(feed.dir, { authority });
const plainHost = await ReleaseHost.serve(feed.dir);
afterAll(async () => {
  for (const one of [realHost, realPlainHost, host, plainHost]) await one[Symbol.asyncDispose]();
  authority?.[Symbol.dispose]();
  rmSync(root, { recursive: true, force: true });
});

const FROM_REAL_HOST = ["--from", realHost.url];
const FROM_REAL_FOLDER = ["--from", real.dir];
const FROM_HOST = ["--from", host.url];
const FROM_FOLDER = ["--from", feed.dir];
const downloading = test.skipIf(lacksTools(DOWNLOADING));

const newMachine = (home?: string) => new InstallMachine(feed, authority?.env, home);

function expectInstalled(machine: InstallMachine, { exitCode, stdout, stderr }: Outcome, dir = machine.dir): void {
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  expect(stdout).toMatch(
    /^Version: v0\.3\.0\nPlatform: \S+\nHash: \S+\nBuild Time: \S+\nOS: (linux|darwin)\nArch: (amd64|arm64)\nPath: .*\n$/,
  );
  expect(stdout).toContain(`Path: ${dir}/svc-v0.3.0\n`);
  expect(readdirSync(dir).sort()).toEqual([".svc-install.json", "svc", "svc-v0.3.0"]);
  expect(machine.version(dir)).toBe("v0.3.0");
}

describe("shells", () => {
  for (const shell of [["dash"], ["bash"], ["bash", "--posix"], ["busybox", "ash"], ["mksh"]])
    test.skipIf(lacksTools([shell[0] ?? "", ...DOWNLOADING])).concurrent(`from a host, under ${shell.join(" ")}`, async () => {
      using machine = newMachine();
      expectInstalled(machine, await machine.install(FROM_REAL_HOST, { shell }));
      const failed = await machine.install([...FROM_REAL_HOST, "--version=v3.2.1"], { shell });
      expect(failed).toMatchObject({
        exitCode: 1,
        stdout: "",
        stderr: expect.stringMatching(/^svc install: .* does not exist \(404\)\n$/),
      });
      const removed = await machine.install(["--uninstall"], { shell });
      expect(removed).toMatchObject({ exitCode: 0 });
      expect(machine.files()).toEqual([]);
    });
});

describe("tools", () => {
  const cases: readonly (readonly [string, readonly string[], readonly string[], string | RegExp])[] = [
    ["minisign", ["curl", "sha256sum", "zstd", "minisign"], FROM_REAL_HOST, "Signature checked with minisign."],
    ["openssl, which sums too", ["curl", "zstd", "openssl"], FROM_REAL_HOST, "Signature checked with openssl."],
    ["neither", ["curl", "sha256sum", "zstd"], FROM_REAL_HOST, "warning: the signature was checked by the downloaded svc itself"],
    ["GNU wget and gzip", ["wget", "sha256sum", "gzip", "openssl"], FROM_REAL_HOST, "Signature checked with openssl."],
    ["shasum, and nothing that unpacks", ["curl", "shasum", "minisign"], FROM_REAL_HOST, "Signature checked with minisign."],
    ["busybox alone", ["busybox:*"], ["--from", realPlainHost.url], "warning: the signature was checked by the downloaded svc itself"],
    ["busybox for the sum alone", ["busybox", "minisign", "gzip"], FROM_REAL_FOLDER, "Signature checked with minisign."],
  ];
  for (const [name, tools, from, says] of cases)
    test.skipIf(lacksTools([...tools, ...(from === FROM_REAL_HOST ? ["openssl"] : [])])).concurrent(name, async () => {
      using machine = newMachine();
      const outcome = await machine.install(from, { tools });
      expectInstalled(machine, outcome);
      expect(outcome.stderr).toMatch(says);
    });

  test
    .skipIf(lacksTools(["openssl"]))
    .concurrent("an openssl that cannot verify Ed25519, or says yes to everything, is not asked", async () => {
      using machine = newMachine();
      for (const [name, text] of [
        ["old", `case " $* " in *" -rawin "*) echo "unknown option -rawin" >&2; exit 1 ;; esac\nexec ${Bun.which("openssl")} "$@"`],
        [
          "credulous",
          `case " $* " in *" -verify "*) echo Signature Verified Successfully; exit 0 ;; esac\nexec ${Bun.which("openssl")} "$@"`,
        ],
      ] as const) {
        const tools = machine.toolbox(["sha256sum", "gzip"]);
        writeFileSync(join(tools, "openssl"), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
        const outcome = await machine.install([...FROM_REAL_FOLDER, "--dir", join(machine.root, name)], { env: { PATH: tools } });
        expect(outcome.stderr).toContain("checked by the downloaded svc itself");
        expect(outcome.exitCode).toBe(0);
      }
    });

  test.skipIf(lacksTools(["curl"])).concurrent("without what is needed it says so, and does nothing", async () => {
    using machine = newMachine();
    const says = async (tools: readonly string[], args = FROM_REAL_HOST) => (await machine.install(args, { tools })).stderr;
    expect(await says(["curl"])).toBe("svc install: nothing here can check a SHA-256: install sha256sum, shasum or openssl\n");
    expect(await says(["sha256sum"])).toBe("svc install: nothing here can download: install curl or wget, or name a folder with --from\n");
    const few = machine.toolbox(["sha256sum"]);
    Bun.spawnSync(["rm", join(few, "mktemp"), join(few, "expr")]);
    expect((await machine.install(FROM_REAL_HOST, { env: { PATH: few } })).stderr).toBe(
      "svc install: this needs expr mktemp, which cannot be found\n",
    );
    expect(machine.files()).toEqual([]);
  });
});

describe("systems", () => {
  const cases: readonly (readonly [name: string, uname: string, arch: string, says: string])[] = [
    ["Git for Windows", "MINGW64_NT-10.0", "x86_64", "on Windows, run this in PowerShell: irm <release host>/install.ps1 | iex"],
    ["Cygwin", "CYGWIN_NT-10.0", "x86_64", "on Windows, run this in PowerShell"],
    ["FreeBSD", "FreeBSD", "amd64", "there is no svc for FreeBSD: only for Linux, macOS and Windows"],
    ["a 32-bit processor", "Linux", "armv7l", "there is no svc for armv7l processors: only for x86_64 and arm64"],
    ["a Mac with an Intel processor", "Darwin", "x86_64", "no svc for this machine (darwin-amd64)"],
    ["a Mac with Apple silicon", "Darwin", "arm64", "no svc for this machine (darwin-arm64)"],
  ];
  for (const [name, uname, arch, says] of cases)
    test.concurrent(name, async () => {
      using machine = newMachine();
      const outcome = await machine.install(FROM_FOLDER, { env: { PATH: pretend(machine, uname, arch, "exit 1") } });
      expect(outcome).toMatchObject({ exitCode: 1, stdout: "", stderr: expect.stringContaining(says) });
      expect(machine.files()).toEqual([]);
    });

  test.concurrent("a clock that is far ahead", async () => {
    using machine = newMachine();
    const tools = machine.toolbox(["sha256sum", "gzip"]);
    Bun.spawnSync(["rm", join(tools, "date")]);
    writeFileSync(join(tools, "date"), "#!/bin/sh\necho 2140-01-01T00:00:00Z\n", { mode: 0o755 });
    const outcome = await machine.install(FROM_FOLDER, { env: { PATH: tools } });
    expect(outcome.stderr).toMatch(/was so until 20\S+, and it is 2140-01-01T00:00:00Z: the host is out of date, or the clock is wrong/);
    expect(machine.files()).toEqual([]);
  });

  test.concurrent("a translated shell on Apple silicon gets the processor's own build", async () => {
    using machine = newMachine();
    const outcome = await machine.install(FROM_FOLDER, { env: { PATH: pretend(machine, "Darwin", "x86_64", "echo 1") } });
    expect(outcome.stderr).toContain("no svc for this machine (darwin-arm64)");
  });

  function pretend(machine: InstallMachine, system: string, arch: string, sysctl: string): string {
    const tools = machine.toolbox(["sha256sum", "gzip"]);
    const replace = (name: string, text: string) => {
      Bun.spawnSync(["rm", "-f", join(tools, name)]);
      writeFileSync(join(tools, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    };
    replace("uname", `case $1 in -m) echo ${arch} ;; *) echo ${system} ;; esac`);
    replace("sysctl", sysctl);
    return tools;
  }
});

describe("folders", () => {
  for (const home of ["with space", "ünï/cødé", "it's $HOME `x`", 'double "quotes" \\ and *'])
    test.concurrent(`HOME is ${home}`, async () => {
      using machine = newMachine(home);
      const outcome = await machine.install(FROM_FOLDER);
      expectInstalled(machine, outcome);
      const found = Bun.spawnSync(["sh", "-c", '. "$HOME/.profile"; command -v svc'], {
        env: { HOME: machine.home, PATH: process.env.PATH },
      });
      expect(found.stdout.toString()).toBe(`${machine.dir}/svc\n`);
      const receipt = await Bun.file(join(machine.dir, ".svc-install.json")).json();
      expect(receipt).toEqual({ source: feed.dir, target: feed.target });
      await machine.install(["--uninstall"]);
      expect(machine.files()).toEqual([]);
    });

  test.concurrent("--dir, relative, and a source with quotes in its path", async () => {
    using machine = newMachine();
    const source = join(machine.root, 'so"ur\\ce');
    symlinkSync(feed.dir, source);
    const outcome = await machine.install(["--from", 'so"ur\\ce', "--dir", "some/where/", "--no-modify-path"]);
    const dir = join(machine.root, "some/where");
    expectInstalled(machine, outcome, dir);
    expect(await Bun.file(join(dir, ".svc-install.json")).json()).toEqual({ source, target: feed.target });
    expect(machine.files()).toEqual([]);
  });

  test.concurrent("a file beside its sums, and none that is alone or for another machine", async () => {
    using machine = newMachine();
    const release = join(feed.dir, "releases/v0.3.0");
    const carried = join(machine.root, "carried");
    mkdirSync(carried);
    const file = join(carried, `svc-${feed.target}.gz`);
    copyFileSync(join(release, `svc-${feed.target}.gz`), file);
    expect((await machine.install(["--from", file])).stderr).toContain(
      "SHA256SUMS and SHA256SUMS.minisig of its release have to be beside it",
    );
    for (const name of ["SHA256SUMS", "SHA256SUMS.minisig"]) copyFileSync(join(release, name), join(carried, name));
    writeFileSync(join(carried, "svc-plan9-mips"), "");
    expect((await machine.install(["--from", join(carried, "svc-plan9-mips")])).stderr).toContain("is not for this machine");
    expect(machine.files()).toEqual([]);
    expectInstalled(machine, await machine.install(["--from", file]));
    expect(await Bun.file(join(machine.dir, ".svc-install.json")).json()).toEqual({ target: feed.target });
  });

  test.concurrent("HOME is not set", async () => {
    using machine = newMachine();
    const env = { HOME: undefined };
    expect(await machine.install(FROM_FOLDER, { env })).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("HOME is not set") });
    const dir = join(machine.root, "opt");
    expectInstalled(machine, await machine.install([...FROM_FOLDER, "--dir", dir], { env }), dir);
  });

  test.concurrent("SVC_HOME, SVC_RELEASES and SVC_NO_MODIFY_PATH say what the options say", async () => {
    using machine = newMachine();
    const home = join(machine.root, "state");
    const env = { SVC_HOME: home, SVC_RELEASES: feed.dir, SVC_NO_MODIFY_PATH: "1" };
    expectInstalled(machine, await machine.install([], { env }), join(home, "bin"));
    expect(machine.files()).toEqual([]);
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });

  for (const umask of ["000", "077"])
    test.concurrent(`umask ${umask}`, async () => {
      using machine = newMachine();
      expectInstalled(machine, await machine.install(FROM_FOLDER, { shell: ["sh", "-c", `umask ${umask}; exec sh "$@"`, "sh"] }));
      expect(machine.files().map((line) => line.replace(/ \d+ /, " "))).toEqual([
        `.profile ${umask === "000" ? "666" : "600"}`,
        ".svc/",
        ".svc/bin/",
        ".svc/bin/.svc-install.json 644",
        ".svc/bin/svc -> svc-v0.3.0",
        ".svc/bin/svc-v0.3.0 755",
      ]);
      expect(statSync(join(machine.home, ".svc")).mode & 0o777).toBe(0o700);
      expect(statSync(machine.dir).mode & 0o777).toBe(0o755);
    });

  test.concurrent("few file descriptors, no terminal, no TMPDIR, an odd working directory", async () => {
    using machine = newMachine();
    const shell = ["sh", "-c", 'ulimit -n 64; mkdir gone; cd gone; rmdir ../gone; exec sh "$@"', "sh"];
    expectInstalled(
      machine,
      await machine.install(FROM_FOLDER, { shell, env: { TMPDIR: "/nonexistent", LANG: undefined, TERM: undefined } }),
    );
  });
});

describe("what is in the way", () => {
  const plant: readonly (readonly [string, (machine: InstallMachine) => void, RegExp])[] = [
    ["a folder svc", ({ dir }) => mkdirSync(join(dir, "svc"), { recursive: true }), /svc is a folder: move it away/],
    ["a file svc", ({ dir }) => writeFileSync(join(dir, "svc"), "mine"), /svc was not put there by this script: move it away/],
    [
      "a link svc to elsewhere",
      ({ dir }) => symlinkSync("/bin/sh", join(dir, "svc")),
      /links to .*, which is not this script's: move it away/,
    ],
    ["a folder of the version's name", ({ dir }) => mkdirSync(join(dir, "svc-v0.3.0")), /svc-v0\.3\.0 is a folder: move it away/],
    [
      "a link svc to a folder of a version's name",
      ({ dir }) => {
        mkdirSync(join(dir, "svc-v0.1.0"));
        symlinkSync("svc-v0.1.0", join(dir, "svc"));
      },
      /svc-v0\.1\.0 is a folder: move it away/,
    ],
  ];
  for (const [name, make, says] of plant)
    test.concurrent(name, async () => {
      using machine = newMachine();
      mkdirSync(machine.dir, { recursive: true });
      make(machine);
      const before = machine.files();
      const outcome = await machine.install(FROM_FOLDER);
      expect(outcome).toMatchObject({ exitCode: 1, stdout: "" });
      expect(outcome.stderr).toMatch(says);
      expect(machine.files()).toEqual(before);
    });

  test.concurrent("a link of the version's name is replaced, and what it points to stays", async () => {
    using machine = newMachine();
    const precious = join(machine.root, "precious");
    writeFileSync(precious, "mine");
    mkdirSync(machine.dir, { recursive: true });
    symlinkSync(precious, join(machine.dir, "svc-v0.3.0"));
    expectInstalled(machine, await machine.install(FROM_FOLDER));
    expect(readFileSync(precious, "utf8")).toBe("mine");
    expect(existsSync(precious) && statSync(precious).mode & 0o111).toBe(0);
  });

  test.concurrent("a file where a folder should be", async () => {
    using machine = newMachine();
    writeFileSync(join(machine.home, ".svc"), "");
    expect((await machine.install(FROM_FOLDER)).stderr).toMatch(/^svc install: cannot make the folder .*; choose another with --dir\n$/);
  });

  const alone = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
  test.skipIf(lacksTools([...DOWNLOADING, ...alone.slice(0, 1)])).concurrent("a HOME or a folder that cannot be written to", async () => {
    using machine = newMachine();
    const own = join(machine.root, "own");
    mkdirSync(own);
    for (const path of [machine.root, machine.home, own]) chmodSync(path, 0o755);
    if (alone.length > 0) Bun.spawnSync(["chown", "65534", own]);
    chmodSync(machine.home, 0o555);
    const refused = await machine.install(FROM_HOST, { under: alone });
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toMatch(/^svc install: cannot make the folder .*\.svc \(Permission denied\); choose another with --dir\n$/);
    const elsewhere = await machine.install([...FROM_HOST, "--dir", join(own, "bin")], { under: alone });
    expectInstalled(machine, elsewhere, join(own, "bin"));
    expect(elsewhere.stderr).toMatch(/warning: cannot write .*\.profile; add this line to it: case /);
    chmodSync(join(own, "bin"), 0o555);
    const full = await machine.install([...FROM_HOST, "--dir", join(own, "bin")], { under: alone });
    expect(full.stderr).toMatch(/^svc install: cannot write to .*bin \(Permission denied\); choose another place with --dir\n$/);
  });
});

describe("while something happens", () => {
  test.concurrent("a svc that runs is replaced", async () => {
    using machine = newMachine();
    mkdirSync(machine.dir, { recursive: true });
    const busy = join(machine.dir, "svc-v0.3.0");
    copyFileSync(Bun.which("sleep") ?? "", busy);
    symlinkSync("svc-v0.3.0", join(machine.dir, "svc"));
    chmodSync(busy, 0o755);
    const child = Bun.spawn([join(machine.dir, "svc"), "600"]);
    expect(() => appendFileSync(busy, "x")).toThrow("ETXTBSY");
    expectInstalled(machine, await machine.install(FROM_FOLDER));
    expect(child.exitCode).toBeNull();
    child.kill();
    await child.exited;
  });

  downloading.concurrent("a second run changes nothing and downloads nothing", async () => {
    using machine = newMachine();
    await using own = await ReleaseHost.serve(feed.dir, { authority });
    expectInstalled(machine, await machine.install(["--from", own.url]));
    const [before, { ino }] = [machine.files(), statSync(join(machine.dir, "svc-v0.3.0"))];
    const asked = own.requests.length;
    expectInstalled(machine, await machine.install(["--from", own.url]));
    expect(machine.files()).toEqual(before);
    expect(statSync(join(machine.dir, "svc-v0.3.0")).ino).toBe(ino);
    expect(own.requests.slice(asked)).toEqual(["/latest/SHA256SUMS.minisig", "/releases/v0.3.0/SHA256SUMS"]);
  });

  downloading.concurrent("over http where that is what was named, and what a killed run left days ago is swept up", async () => {
    using machine = newMachine();
    const left = join(machine.dir, ".svc-install-AbCdEf");
    mkdirSync(left, { recursive: true });
    writeFileSync(join(left, "svc"), "half");
    Bun.spawnSync(["touch", "-d", "3 days ago", left]);
    expectInstalled(machine, await machine.install(["--from", `${plainHost.url}/`]));
    expect(await Bun.file(join(machine.dir, ".svc-install.json")).json()).toMatchObject({ source: plainHost.url });
  });

  test.concurrent("a damaged file of the same version is replaced", async () => {
    using machine = newMachine();
    expectInstalled(machine, await machine.install(FROM_FOLDER));
    writeFileSync(join(machine.dir, "svc-v0.3.0"), "damaged");
    expect(machine.version()).toBe("");
    expectInstalled(machine, await machine.install(FROM_FOLDER));
  });

  downloading.concurrent("two at once, of two versions, leave one of them whole", async () => {
    using machine = newMachine();
    const outcomes = await Promise.all([
      machine.install([...FROM_HOST, "--version=v0.1.0"]),
      machine.install(FROM_HOST),
      machine.install(FROM_HOST),
    ]);
    expect(outcomes.map(({ exitCode, stderr }) => ({ exitCode, stderr: stderr.match(/^svc install.*/gm) }))).toEqual(
      outcomes.map(() => ({ exitCode: 0, stderr: null })),
    );
    expect(readdirSync(machine.dir).sort()).toEqual([".svc-install.json", "svc", "svc-v0.1.0", "svc-v0.3.0"]);
    expect(["v0.1.0", "v0.3.0"]).toContain(machine.version());
  });

  for (const [signal, exitCode] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)
    downloading.concurrent(`${signal} in the middle of a download`, async () => {
      using machine = newMachine();
      machine.place("v0.1.0");
      const before = machine.files();
      let reached = () => {};
      const downloading = new Promise<void>((resolve) => {
        reached = resolve;
      });
      await using silent = await ReleaseHost.serve(feed.dir, {
        authority,
        faults: [
          [
            /v0\.3\.0\/svc-/,
            (response, request) => {
              stalls()(response, request);
              reached();
            },
          ],
        ],
      });
      const { pid, ended } = machine.start(["--from", silent.url]);
      await Promise.race([downloading, ended]);
      process.kill(pid, signal);
      expect((await ended).exitCode).toBe(exitCode);
      expect(machine.files()).toEqual(before);
      expect(machine.version()).toBe("v0.1.0");
    });

  test.concurrent("--uninstall leaves what the user has", async () => {
    using machine = newMachine();
    expectInstalled(machine, await machine.install(FROM_FOLDER));
    const data = join(machine.home, ".svc", "data", "meta.db");
    mkdirSync(join(data, ".."));
    writeFileSync(data, "mine");
    writeFileSync(join(machine.dir, "svc-notes.txt"), "mine");
    writeFileSync(join(machine.dir, ".svc-update.lock"), "");
    const outcome = await machine.install(["--uninstall"]);
    expect(outcome).toMatchObject({ exitCode: 0, stdout: "" });
    expect(outcome.stderr).toContain(`What it kept for you is still in ${join(machine.home, ".svc")}`);
    expect(machine.files()).toEqual([".svc/", ".svc/bin/", ".svc/bin/svc-notes.txt 4 644", ".svc/data/", ".svc/data/meta.db 4 644"]);
    expect(await machine.install(["--uninstall"])).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("There is no svc in") });
  });
});
