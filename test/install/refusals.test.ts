/**
 * What the installer refuses: each leaves the version before in its place and running, no other
 * file, and one line that says why.
 */

import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecretKey } from "../../src/domain/release/minisign.ts";
import { builtFeed } from "../harness/release-feed.ts";
import { answers, type Faults, hangsUp, neverEnds, ReleaseHost, redirects, stalls, TestAuthority } from "../harness/release-host.ts";
import { DOWNLOADING, InstallMachine, type InstallOptions, lacksTools } from "./machine.ts";
import { EARLIER, LATER, releaseVariant, sha256, type Variant } from "./release-variant.ts";

/** Tests wait for their turn. */
setDefaultTimeout(300_000);

const feed = await builtFeed();
const authority = TestAuthority.make();
afterAll(() => authority?.[Symbol.dispose]());

const PROGRAM = `svc-${feed.target}`;
const PAGE = "<!DOCTYPE html>\n<html><body>Please log in</body></html>\n";
const QUICK = { SVC_INSTALL_TIMEOUT: "2" };

interface Refusal {
  readonly why: string;
  readonly variant?: Variant;
  readonly faults?: Faults;
  readonly args?: readonly string[];
  readonly options?: InstallOptions;
  readonly says: string | RegExp;
}

/** Runs the script against a host that is wrong in some way, on a machine that has v0.1.0. */
async function refuses({ variant, faults, args = [], options, says }: Refusal): Promise<void> {
  using machine = new InstallMachine(feed, authority?.env);
  machine.place("v0.1.0");
  const folder = variant ? await releaseVariant(feed, join(machine.root, "feed"), variant) : feed.dir;
  await using host = await ReleaseHost.serve(folder, { authority, faults });
  const before = machine.files();
  const outcome = await machine.install(["--from", host.url, ...args], options);
  expect(outcome.stderr).toMatch(says);
  expect(outcome.stderr.match(/^svc install: .*$/gm)).toHaveLength(1);
  expect(outcome.stderr.replaceAll(/^(svc install: |Getting svc ).*\n/gm, "")).toBe("");
  expect(outcome).toMatchObject({ exitCode: 1, stdout: "" });
  expect(machine.files()).toEqual(before);
  expect(machine.version()).toBe("v0.1.0");
}

const editLines = (edit: (line: string) => string) => (text: string) =>
  text
    .split("\n")
    .map((line) => (line.includes(`  ${PROGRAM}`) ? edit(line) : line))
    .join("\n");
const lineOf = (text: string, index: number, edit: (line: string) => string) =>
  text
    .split("\n")
    .map((line, at) => (at === index ? edit(line) : line))
    .join("\n");
const otherLetter = (text: string, at: number) => text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);

/** A release that holds another program, correctly signed. */
function holding(program: string): Variant {
  return {
    files: { [PROGRAM]: program, [`${PROGRAM}.zst`]: undefined, [`${PROGRAM}.gz`]: undefined },
    sums: () => `${sha256(program)}  ${PROGRAM}\n`,
    sign: {},
  };
}

const SUMS: readonly Refusal[] = [
  { why: "a changed file", variant: { files: { [`${PROGRAM}.zst`]: "x", [`${PROGRAM}.gz`]: "x" } }, says: /is not what SHA256SUMS says/ },
  { why: "no sums", variant: { files: { SHA256SUMS: undefined } }, says: /SHA256SUMS does not exist \(404\)/ },
  { why: "empty sums", faults: [[/SHA256SUMS$/, answers("")]], says: /SHA256SUMS is empty/ },
  { why: "a line without a sum", variant: { sums: editLines((line) => line.slice(64)), sign: {} }, says: /has no svc for this machine/ },
  { why: "a sum that is too short", variant: { sums: editLines((line) => line.slice(1)), sign: {} }, says: /has no SHA-256 for svc-/ },
  {
    why: "two sums for a file",
    variant: { sums: editLines((line) => `${line}\n${line.replace(/^./, "0")}`), sign: {} },
    says: /has two lines for svc-/,
  },
  { why: "no line for this machine", variant: { sums: () => "", sign: {}, files: {} }, says: /SHA256SUMS is empty/ },
  {
    why: "only other machines",
    variant: { sums: (text) => text.replaceAll(PROGRAM, "svc-plan9-mips"), sign: {} },
    says: new RegExp(`no svc for this machine \\(${feed.target}\\)`),
  },
  {
    why: "another file inside of the compressed one",
    variant: {
      files: { [`${PROGRAM}.zst`]: undefined, [`${PROGRAM}.gz`]: Bun.gzipSync(new TextEncoder().encode("other")) },
      sums: (text) =>
        text.replace(/^.*\.(gz|zst)\n/gm, "").concat(`${sha256(Bun.gzipSync(new TextEncoder().encode("other")))}  ${PROGRAM}.gz\n`),
      sign: {},
    },
    says: /holds another file than SHA256SUMS says/,
  },
];

const SIGNATURES: readonly Refusal[] = [
  { why: "changed sums", variant: { sums: (text) => `${text}\n` }, says: /signature does not fit SHA256SUMS/ },
  { why: "no signature", variant: { files: { "SHA256SUMS.minisig": undefined } }, says: /SHA256SUMS\.minisig does not exist \(404\)/ },
  {
    why: "a signature of the manifest",
    variant: { signature: () => textOf("manifest.json.minisig") },
    says: /not one of the sums of a release/,
  },
  {
    why: "a signature of another release",
    args: ["--version=v0.3.0"],
    faults: [[/v0\.3\.0\/SHA256SUMS\.minisig/, answers(textOf("SHA256SUMS.minisig", "v0.1.0"))]],
    says: /v0\.3\.0 was asked for, and this is v0\.1\.0/,
  },
  {
    why: "another signed file under the comment of the sums",
    variant: { files: { SHA256SUMS: textOf("manifest.json") } },
    says: /signature does not fit SHA256SUMS|has no svc for this machine/,
  },
  {
    why: "an unknown key",
    variant: { sign: { key: await createSecretKey() } },
    says: /signed by another key than the one this script trusts/,
  },
  {
    why: "a changed comment",
    variant: { signature: (text) => text.replace(/expires:\S+/, `expires:${LATER}`) },
    says: /signature does not fit/,
  },
  {
    why: "a changed signature",
    variant: { signature: (text) => lineOf(text, 1, (line) => otherLetter(line, 40)) },
    says: /signature does not fit/,
  },
  {
    why: "a changed signature of the comment",
    variant: { signature: (text) => lineOf(text, 3, (line) => otherLetter(line, 40)) },
    says: /signature does not fit/,
  },
];

const SHAPES: readonly Refusal[] = [
  { why: "half a signature", variant: { signature: (text) => text.slice(0, 120) }, says: /is no minisign signature/ },
  {
    why: "a signature of the old kind",
    variant: { signature: (text) => lineOf(text, 1, (line) => Buffer.from(line, "base64").fill("d", 1, 2).toString("base64")) },
    says: /must be over BLAKE2b-512/,
  },
  {
    why: "a signature with an odd comment",
    variant: { sign: { comment: "svc sums version:../../x expires:2099-01-01T00:00:00Z" } },
    says: /not one of the sums/,
  },
  { why: "a page for a signature", faults: [[/minisig$/, answers(PAGE)]], says: /minisig is a web page/ },
  { why: "a page for the binary", faults: [[/v0\.3\.0\/svc-/, answers(PAGE)]], says: /is a web page, and not svc/ },
  {
    why: "what was the latest long ago",
    variant: { sign: { expiresAt: EARLIER } },
    says: /was so until 2020-01-01T00:00:00Z.*--version v0\.3\.0 takes it nevertheless/,
  },
];

const NETWORK: readonly Refusal[] = [
  { why: "404", faults: [[/v0\.3\.0\/svc-/, answers("no", 404)]], says: /svc-\S+ does not exist \(404\)/ },
  { why: "500", faults: [[/./, answers("oh", 500)]], says: /cannot download .*500/ },
  { why: "a version that is not there", args: ["--version", "9.9.9"], says: /releases\/v9\.9\.9\/SHA256SUMS\.minisig does not exist/ },
  { why: "half a download", faults: [[/v0\.3\.0\/svc-/, hangsUp()]], says: /cannot download .*svc-/ },
  { why: "a stall", faults: [[/v0\.3\.0\/svc-/, stalls()]], options: { env: QUICK }, says: /cannot download .*svc-/ },
  { why: "a redirect to http", faults: [[/./, redirects((path) => `http://localhost:1${path}`)]], says: /without https: not followed/ },
  {
    why: "a redirect of the binary to http",
    faults: [[/v0\.3\.0\/svc-/, redirects("http://localhost:1/svc")]],
    says: /without https: not followed/,
  },
  { why: "a redirect to a file", faults: [[/./, redirects("file:///etc/passwd")]], says: /cannot download|without https/ },
  { why: "a redirect without end", faults: [[/./, redirects((path) => path)]], says: /cannot download .*redirect/i },
  { why: "an answer without end", faults: [[/minisig$/, neverEnds]], says: /longer than the 10000 bytes it may have/ },
  { why: "sums without end", faults: [[/SHA256SUMS$/, neverEnds]], says: /longer than the 1000000 bytes it may have/ },
];

const NO_AUTHORITY = { CURL_CA_BUNDLE: undefined, SSL_CERT_FILE: undefined, WGETRC: undefined };
const CERTIFICATES: readonly Refusal[] = ["curl", "wget"].map((program) => ({
  why: `a certificate that nobody vouches for, with ${program}`,
  options: { env: NO_AUTHORITY, tools: [program, "openssl", "zstd"] },
  says: /cannot download .*certificate/i,
}));

const PROGRAMS: readonly Refusal[] = [
  { why: "a program that fails", variant: holding("#!/bin/sh\necho broken >&2\nexit 3\n"), says: /the new svc does not run here: broken/ },
  {
    why: "a program of another version",
    variant: holding("#!/bin/sh\necho v0.1.0\n"),
    says: /says that it is 'v0\.1\.0', and not v0\.3\.0/,
  },
  { why: "a program that is none", variant: holding("\x7fELF"), says: /does not start|does not run/ },
  {
    why: "a program for a newer C library",
    variant: holding('#!/bin/sh\necho "svc: /lib/libc.so.6: version \\`GLIBC_2.99\' not found (required by svc)" >&2\nexit 1\n'),
    says: /needs a newer glibc than this system's/,
  },
  {
    why: "a program without the library it needs",
    variant: holding("#!/bin/sh\necho 'Error loading shared library libstdc++.so.6: No such file' >&2\nexit 127\n"),
    says: /apk add libstdc\+\+/,
  },
  {
    why: "a program for a newer C++ library",
    variant: holding(
      '#!/bin/sh\nfor name in _ZSt21__glibcxx_assert _ZNSt3pmr; do echo "Error relocating $0: $name: symbol not found" >&2; done\nexit 127\n',
    ),
    says: /^svc install: svc needs a newer libstdc\+\+ than .*3\.19 \(_ZSt21__glibcxx_assert: symbol not found\)$/m,
  },
  {
    why: "a program that this processor cannot run",
    variant: holding("#!/bin/sh\nkill -ILL $$\n"),
    says: /instructions that this processor does not have/,
  },
];

function textOf(name: string, version = "v0.3.0"): string {
  return readFileSync(join(feed.dir, "releases", version, name), "utf8");
}

for (const [group, refusals] of Object.entries({
  sums: SUMS,
  signatures: SIGNATURES,
  shapes: SHAPES,
  network: NETWORK,
  certificates: CERTIFICATES,
  programs: PROGRAMS,
}))
  describe(group, () => {
    for (const refusal of refusals)
      test.skipIf(lacksTools([...DOWNLOADING, ...(refusal.options?.tools ?? [])])).concurrent(refusal.why, () => refuses(refusal));
  });

describe("signatures, whatever checks them", () => {
  for (const tools of [
    ["curl", "sha256sum", "openssl", "gzip"],
    ["curl", "sha256sum", "gzip"],
  ])
    for (const refusal of SIGNATURES)
      test
        .skipIf(lacksTools([...DOWNLOADING, ...tools]))
        .concurrent(`${refusal.why}, with ${tools.join(" ")}`, () => refuses({ ...refusal, options: { tools } }));
});

describe("downloads, with wget", () => {
  const tools = ["wget", "sha256sum", "openssl", "zstd"];
  for (const refusal of NETWORK)
    test.skipIf(lacksTools(tools)).concurrent(`${refusal.why}, with wget`, () => refuses({ ...refusal, options: { env: QUICK, tools } }));
});

test.skipIf(lacksTools(["openssl"])).concurrent("an expired signature is taken when its version is asked for", async () => {
  using machine = new InstallMachine(feed);
  const folder = await releaseVariant(feed, join(machine.root, "feed"), { sign: { expiresAt: EARLIER } });
  const outcome = await machine.install(["--from", folder, "--version", "v0.3.0", "--quiet"]);
  expect(outcome).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  expect(machine.version()).toBe("v0.3.0");
});

test.concurrent("an older release is taken only when its version is asked for", async () => {
  using machine = new InstallMachine(feed);
  machine.place("v0.3.0");
  const older = await releaseVariant(feed, join(machine.root, "feed"), {});
  Bun.spawnSync(["ln", "-sfn", "releases/v0.1.0", join(older, "latest")]);
  const refused = await machine.install(["--from", older]);
  expect(refused.stderr).toMatch(/v0\.3\.0 is installed, and the latest release here is v0\.1\.0: --version v0\.1\.0 goes back/);
  expect(machine.version()).toBe("v0.3.0");
  expect((await machine.install(["--from", older, "--version", "0.1.0"])).exitCode).toBe(0);
  expect(machine.version()).toBe("v0.1.0");
  expect(readFileSync(join(machine.dir, ".svc-install.json"), "utf8")).toContain('"history": ["v0.3.0"]');
});

test.concurrent("a script without a key wants one, and one with a key takes no other", async () => {
  using machine = new InstallMachine(feed);
  const other = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
  const bare = readFileSync(join(import.meta.dir, "../../install.sh"), "utf8");
  const from = ["--from", feed.dir];
  expect(await machine.install(from, { script: bare })).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("carries no key") });
  expect(await machine.install([...from, "--key", "x"], { script: bare })).toMatchObject({ exitCode: 2 });
  expect((await machine.install([...from, "--key", other], { script: bare })).stderr).toContain("signed by another key");
  expect(await machine.install([...from, "--key", other])).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(feed.publicKey) });
  expect(await machine.install([], { script: bare })).toMatchObject({ exitCode: 1 });
  expect(machine.files()).toEqual([]);
  expect(await machine.install([...from, "--key", feed.publicKey], { script: bare })).toMatchObject({ exitCode: 0 });
  expect(machine.version()).toBe("v0.3.0");
});

test.concurrent("wrong usage ends with 2 and the way to the help", async () => {
  using machine = new InstallMachine(feed);
  for (const args of [
    ["--nonsense"],
    ["--version"],
    ["--version", "latest"],
    ["--version=v1.2"],
    ["--version=v1.02.3"],
    ["--dir="],
    ["v1.2.3"],
  ]) {
    const outcome = await machine.install(args);
    expect({ args, ...outcome }).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringMatching(/^svc install: .*; see --help\n$/),
    });
  }
  expect(await machine.install(["--from", "ftp://x"])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("only http and https"),
  });
  expect((await machine.install(["--help"])).stdout).toContain("--no-modify-path");
  expect(machine.files()).toEqual([]);
});

test
  .skipIf(lacksTools(DOWNLOADING))
  .concurrent("a signature made for this feed fits, so that the refusals above are for what they say", async () => {
    using machine = new InstallMachine(feed, authority?.env);
    machine.place("v0.1.0");
    const folder = await releaseVariant(feed, join(machine.root, "feed"), { sign: {} });
    await using host = await ReleaseHost.serve(folder, { authority });
    expect(await machine.install(["--from", host.url])).toMatchObject({ exitCode: 0 });
    expect(machine.version()).toBe("v0.3.0");
  });
