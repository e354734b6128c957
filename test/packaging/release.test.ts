/**
 * Releases of this machine's target, built by `build.ts` in two copies of the sources, in folders
 * of different depth: the same bytes, complete, signed, and each compressed form and patch gives
 * the binary back.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, gunzipSync, type ZstdOptions, zstdDecompressSync } from "node:zlib";
import { parseManifest, type ReleaseBinary, type ReleaseManifest } from "../../src/domain/release/manifest.ts";
import { parseSecretKey, publicKeyText, type SecretKey, verify } from "../../src/domain/release/minisign.ts";
import { releaseFileName } from "../../src/domain/release/target.ts";
import { embeddedModules } from "../../src/packaging/module-graph.ts";
import { lacksProgram } from "../harness/needs.ts";
import { TARGET } from "../harness/release-feed.ts";

const ROOT = join(import.meta.dir, "../..");
/** Without zstd there are no patches, which these releases have. */
const lacksZstd = lacksProgram("zstd");
/** On the disk of the dependencies, so that links to them can stand for copies. */
const work = mkdtempSync(join(mkdirAt(ROOT, "dist"), "test-release-"));
const results = mkdtempSync(join(tmpdir(), "svc-release-"));
const FILE = releaseFileName(TARGET);
const COMMON = [`--targets=${TARGET}`, "--level=1", "--base-url=https://releases.example.com/svc"];
const at = (...path: string[]) => join(results, ...path);
let key: SecretKey;
let manifest: ReleaseManifest;
let built: ReleaseBinary;
let tables: string;

beforeAll(async () => {
  if (lacksZstd) return;
  const [one, other] = [copyOfSources("one"), copyOfSources("two/levels/down")];
  await build(one, ["--new-key", at("key")]);
  key = await parseSecretKey(readFileSync(at("key"), "utf8"));
  await build(one, [...COMMON, "--version=v0.1.0", `--out=${at("older")}`]);
  const newer = [...COMMON, "--version=v0.2.0", `--deltas-from=${at("older")}`];
  tables = await build(one, [...newer, `--out=${at("one")}`, `--publish=${at("feed")}`]);
  await build(other, [...newer, `--out=${at("two")}`]);
  manifest = parseManifest(readFileSync(at("one", "manifest.json"), "utf8"));
  built = manifest.targets[TARGET] as ReleaseBinary;
}, 300_000);
afterAll(() => {
  for (const dir of [work, results]) rmSync(dir, { recursive: true, force: true });
}, 300_000);

function mkdirAt(...path: string[]): string {
  mkdirSync(join(...path), { recursive: true });
  return join(...path);
}

function copyOfSources(name: string): string {
  const copy = mkdirAt(work, name);
  for (const entry of [
    "src",
    "gen",
    "proto",
    "docs",
    "build.ts",
    "package.json",
    "bun.lock",
    "tsconfig.json",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "install.sh",
  ])
    if (existsSync(join(ROOT, entry))) cpSync(join(ROOT, entry), join(copy, entry), { recursive: true });
  const linked = Bun.spawnSync(["cp", "-al", `${join(ROOT, "node_modules")}/.`, mkdirAt(copy, "node_modules")]);
  if (!linked.success) throw new Error(linked.stderr.toString());
  return copy;
}

async function build(copy: string, args: readonly string[]): Promise<string> {
  const env = {
    ...process.env,
    SOURCE_DATE_EPOCH: "1709210096",
    SVC_SIGNING_KEY: "",
    SVC_SIGNING_KEY_FILE: at("key"),
    GIT_DIR: join(copy, "none"),
  };
  const child = Bun.spawn([process.execPath, join(copy, "build.ts"), ...args], {
    cwd: results,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`build.ts ${args.join(" ")}: ${stderr}`);
  return stdout;
}

const bytes = (...path: string[]) => readFileSync(at(...path));
const sha256 = (data: Uint8Array) => new Bun.CryptoHasher("sha256").update(data).digest("hex");

test.skipIf(lacksZstd)("two builds of one commit in two folders are the same, byte for byte", () => {
  expect(bytes("two", "SHA256SUMS").toString()).toBe(bytes("one", "SHA256SUMS").toString());
  for (const name of readdirSync(at("one"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())) {
    const path = join(name.parentPath.slice(at("one").length), name.name);
    if (!/\.minisig$|^\/?manifest\.json$/.test(path))
      expect(`${path} ${sha256(bytes("two", path))}`).toBe(`${path} ${sha256(bytes("one", path))}`);
  }
});

describe.skipIf(lacksZstd)("the folder", () => {
  test("holds the binary, what is made of it, and the sums of every file, all signed", async () => {
    const names = [
      "svc-v0.2.0-" + TARGET + ".tar.gz",
      FILE,
      `${FILE}.gz`,
      `${FILE}.zst`,
      `${FILE}.from-v0.1.0.zstpatch`,
      "svc-windows-386",
      "svc-0.2.0-py3-none-any.whl",
      "svc-client-0.2.0.tgz",
    ];
    const files = readdirSync(at("one"), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
    expect(files).toEqual(expect.arrayContaining(names));
    const sums = bytes("one", "SHA256SUMS").toString().trim().split("\n");
    expect(sums.map((line) => line.slice(66)).sort()).toEqual(files.filter((name) => !/^(SHA256SUMS|manifest\.json)/.test(name)).sort());
    for (const line of sums) expect(`${sha256(bytes("one", line.slice(66)))}  ${line.slice(66)}`).toBe(line);
    expect(bytes("one", "svc-windows-386").toString()).toStartWith("There is no svc for 32-bit Windows");
    for (const [file, what] of [
      ["SHA256SUMS", "sums"],
      ["manifest.json", "manifest"],
    ] as const) {
      const comment = await verify(bytes("one", file), bytes("one", `${file}.minisig`).toString(), key.public);
      expect(comment).toBe(`svc ${what} version:v0.2.0 expires:${manifest.expires_at}`);
    }
  });

  test.skipIf(lacksProgram("minisign"))("minisign agrees", () => {
    for (const file of ["SHA256SUMS", "manifest.json"]) {
      const said = Bun.spawnSync(["minisign", "-Vm", at("one", file), "-P", publicKeyText(key.public)]);
      expect(said.stdout.toString()).toContain("Signature and comment signature verified");
    }
  });

  test("has a manifest whose sizes and hashes are those of the files, and times in their order", () => {
    expect(manifest).toMatchObject({ version: "v0.2.0", built_at: "2024-02-29T12:34:56Z", min_version: "v0.1.0" });
    expect(Date.parse(manifest.expires_at) - Date.now()).toBeWithin(89 * 86_400_000, 90 * 86_400_000);
    for (const { url, sha256: hash, size } of [built, ...Object.values(built.encodings), ...built.deltas])
      expect({ url, hash, size }).toEqual({ url, hash: sha256(bytes("one", url)), size: statSync(at("one", url)).size });
    expect(built.deltas).toMatchObject([{ from: "v0.1.0", from_sha256: sha256(bytes("older", FILE)) }]);
  });

  test("compressed forms and the patch give the binary back, in process and with the zstd tool", () => {
    const want = sha256(bytes("one", FILE));
    expect(sha256(gunzipSync(bytes("one", `${FILE}.gz`)))).toBe(want);
    expect(sha256(zstdDecompressSync(bytes("one", `${FILE}.zst`)))).toBe(want);
    const patch = bytes("one", `${FILE}.from-v0.1.0.zstpatch`);
    expect(patch.length).toBeLessThan(bytes("one", `${FILE}.zst`).length / 20);
    const options = { dictionary: bytes("older", FILE), params: { [constants.ZSTD_d_windowLogMax]: 31 } } as ZstdOptions;
    expect(sha256(zstdDecompressSync(patch, options))).toBe(want);
    for (const argv of [[`${FILE}.zst`], ["--long=31", `--patch-from=${at("older", FILE)}`, `${FILE}.from-v0.1.0.zstpatch`]]) {
      const out = Bun.spawnSync(["zstd", "-q", "-d", "-c", ...argv], { cwd: at("one"), maxBuffer: 1 << 30 });
      expect(sha256(out.stdout)).toBe(want);
    }
  }, 300_000);

  test("keeps a source map for each part of the binary, with the names that the binary shows", () => {
    const parts = new Set(embeddedModules(bytes("one", FILE)).map(({ name }) => name));
    const dir = at("one", "sourcemaps", TARGET);
    const maps = [...new Bun.Glob("**/*.map").scanSync(dir)];
    expect(maps.length).toBeGreaterThan(20);
    for (const name of maps) expect(parts).toContain(`/$bunfs/root/${name.slice(0, -".map".length)}`);
    const sources = maps.flatMap((name) => JSON.parse(readFileSync(join(dir, name)).toString()).sources as string[]);
    expect(sources).toContain("src/main.ts");
    expect(sources.filter((source) => source.startsWith("/"))).toEqual([]);
  });

  test("says nothing of the folder it was built in", () => {
    for (const place of [work, ROOT]) expect(bytes("one", FILE).includes(place)).toBe(false);
  });

  test("has an archive with the binary, completions, manual and licence in one folder", () => {
    const dir = mkdirAt(results, "unpacked");
    const unpacked = Bun.spawnSync(["tar", "-xzf", at("one", `svc-v0.2.0-${TARGET}.tar.gz`), "-C", dir]);
    expect(unpacked.stderr.toString()).toBe("");
    expect(readdirSync(dir)).toEqual([`svc-v0.2.0-${TARGET}`]);
    const folder = join(dir, `svc-v0.2.0-${TARGET}`);
    expect(readdirSync(folder).sort()).toEqual(["LICENSE", "README.md", "completions", "man", "proto", "svc"]);
    expect(readdirSync(join(folder, "completions")).sort()).toEqual(["_svc", "svc.bash", "svc.fish", "svc.ps1"]);
    expect(readdirSync(join(folder, "man/man1"))).toEqual(expect.arrayContaining(["svc.1", "svc-query.1", "svc-server.1"]));
    expect(statSync(join(folder, "svc")).mode & 0o777).toBe(0o755);
    expect(statSync(join(folder, "man/man1/svc.1")).mode & 0o777).toBe(0o644);
    expect(sha256(readFileSync(join(folder, "svc")))).toBe(built.sha256);
  });
});

describe.skipIf(lacksZstd)("the binary", () => {
  const svc = (env: Record<string, string>, ...args: string[]) => {
    const home = mkdirAt(results, "home");
    const said = Bun.spawnSync([at("one", FILE), ...args], { cwd: home, env: { HOME: home, SVC_NO_UPDATE_CHECK: "1", ...env } });
    return `${said.stdout}${said.stderr}`;
  };

  test("states the version, the time and the commit of its sources", () => {
    expect(svc({}, "version", "--tag-only").trim()).toBe("v0.2.0");
    const info = svc({}, "version", "--json");
    expect(info).toContain("2024-02-29T12:34:56Z");
    expect(info).toContain("unknown");
  });

  test("carries the key and the host that its updates come from", () => {
    for (const text of [publicKeyText(key.public), "https://releases.example.com/svc"])
      expect(bytes("one", FILE).includes(text)).toBe(true);
    const script = bytes("one", "install.sh").toString();
    expect(script).toContain(`\nPUBLIC_KEY="${publicKeyText(key.public)}"\n`);
    expect(script).toContain('\nBASE_URL="https://releases.example.com/svc"\n');
  });

  test("gives its runtime no options from the environment", () => {
    for (const options of ["--version", "--help", "--print 6*7", "--cwd=/", "--bogus"])
      expect(svc({ BUN_OPTIONS: options }, "version", "--tag-only").trim()).toBe("v0.2.0");
  });
});

test.skipIf(lacksZstd)("the build prints a line of figures for each target, and published what it built", () => {
  expect(tables).toMatch(new RegExp(`^${TARGET} +\\d+\\.\\d +\\d+\\.\\d +\\d+\\.\\d +\\d+\\.\\d\\d? +\\d+\\.\\d`, "m"));
  expect(tables).toMatch(/^v0\.2\.0: 1 targets? in \d+\.\d s$/m);
  expect(bytes("feed", "latest", FILE).equals(bytes("one", FILE))).toBe(true);
  expect(existsSync(at("feed", "releases/v0.2.0/sourcemaps"))).toBe(false);
});

test.skipIf(lacksZstd)(
  "a build that could not be published, or would write over other things, does not begin",
  async () => {
    await build(join(work, "one"), ["--new-key", at("other-key")]);
    const refusal = async (keyFile: string, out: string) => {
      const argv = [process.execPath, join(work, "one/build.ts"), ...COMMON, `--out=${out}`, `--publish=${at("feed")}`];
      const env = { ...process.env, SVC_SIGNING_KEY: "", SVC_SIGNING_KEY_FILE: keyFile };
      const child = Bun.spawn(argv, { cwd: results, env, stdout: "ignore", stderr: "pipe" });
      const said = await new Response(child.stderr).text();
      expect(await child.exited).toBe(1);
      return said;
    };
    expect(await refusal(at("other-key"), at("never"))).toMatch(/^the feed belongs to another key: /);
    expect(existsSync(at("never"))).toBe(false);
    mkdirAt(results, "photos", "2024");
    expect(await refusal(at("key"), at("photos"))).toBe(
      `--out=${at("photos")}: the folder holds 2024, which is not of a release; name another one\n`,
    );
    expect(await refusal(at("key"), at("key"))).toBe(`--out=${at("key")}: this is a file\n`);
    expect(readdirSync(at("photos"))).toEqual(["2024"]);
  },
  300_000,
);
