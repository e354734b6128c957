/**
 * The packages of the clients, as other programs see them: pip installs the wheel from a mirror, npm
 * the TypeScript client, and the commands write and install what a release has.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npmPackage } from "../../src/client-packages/npm-package.ts";
import type { PackageFile } from "../../src/client-packages/package-file.ts";
import { wheel } from "../../src/client-packages/wheel.ts";
import type { Machine } from "../../src/context/machine.ts";
import { tempFolder } from "../client/test-context.ts";
import { runCommand } from "../commands/platform.ts";
import { lacks, lacksProgram } from "../harness/needs.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";

const BUILD = { version: "v1.2.3", builtAt: "2024-02-29T12:34:56Z" };
const OLDER = { version: "v1.2.0", builtAt: "2024-01-01T00:00:00Z" };
const sha256 = (content: Uint8Array): string => new Bun.CryptoHasher("sha256").update(content).digest("hex");
const lacksPip = lacks("pip", Bun.spawnSync(["python3", "-m", "pip", "--version"], { stderr: "ignore" }).success);

const folder = new TempFolder();
const feed = join(folder.path, "feed");
let server: TestServer;
let python = "";
let files: readonly PackageFile[] = [];

beforeAll(async () => {
  const releases = [BUILD, OLDER].map(({ builtAt, version }) => ({
    ...{ version, component: "svc", published_at: builtAt, notes: "" },
    manifest: `releases/${version}/manifest.json`,
  }));
  for (const build of [BUILD, OLDER]) {
    const release = join(feed, "releases", build.version);
    mkdirSync(release, { recursive: true });
    const made = [await wheel(build), await npmPackage(build)];
    if (build === BUILD) files = made;
    for (const { content, name } of made) writeFileSync(join(release, name), content);
    writeFileSync(join(release, "SHA256SUMS"), made.map(({ content, name }) => `${sha256(content)}  ${name}\n`).join(""));
  }
  // A release of before the packages has none.
  mkdirSync(join(feed, "releases/v1.0.0"), { recursive: true });
  writeFileSync(join(feed, "releases/v1.0.0/SHA256SUMS"), `${"0".repeat(64)}  svc-linux-amd64\n`);
  releases.push({ ...releases[1], version: "v1.0.0", manifest: "releases/v1.0.0/manifest.json" } as (typeof releases)[0]);
  const index = { format: 1, latest: BUILD.version, expires_at: "2100-01-01T00:00:00Z", releases };
  writeFileSync(join(feed, "index.json"), JSON.stringify(index));
  server = await TestServer.start(folder.path, { releases: feed });
  python = emptyEnvironment("venv");
}, 600_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** A virtual environment, and the path of its interpreter. */
function emptyEnvironment(name: string, ...options: readonly string[]): string {
  run(["python3", "-m", "venv", ...options, join(folder.path, name)]);
  return join(folder.path, name, "bin/python");
}

/** What a program prints; the server is of this process, so nothing may block it. */
async function said(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn([...argv], {
    cwd: folder.path,
    env: { ...process.env, HOME: folder.path, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}${stdout}`);
  return stdout;
}

function run(argv: readonly string[]): string {
  const result = Bun.spawnSync([...argv], { cwd: folder.path });
  if (!result.success) throw new Error(`${argv.join(" ")}: ${result.stderr}`);
  return result.stdout.toString();
}

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(`${server.server.url}${path}`, { method, headers, redirect: "manual" });

describe("the wheel", () => {
  test("is the same each time, and whole by its own record", async () => {
    const [first, second] = [await wheel(BUILD), await wheel(BUILD)];
    expect(sha256(first.content)).toBe(sha256(second.content));
    expect(first.name).toBe("svc-1.2.3-py3-none-any.whl");
    const path = join(folder.path, first.name);
    writeFileSync(path, first.content);
    const check = `
import base64, csv, hashlib, io, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as file:
    assert file.testzip() is None
    rows = list(csv.reader(io.StringIO(file.read("svc-1.2.3.dist-info/RECORD").decode())))
    assert sorted(row[0] for row in rows) == sorted(file.namelist()), "every file is recorded"
    for name, digest, size in rows:
        if name.endswith("/RECORD"): continue
        content = file.read(name)
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), name
        assert int(size) == len(content), name
    assert "svc/py.typed" in file.namelist()
    assert not [name for name in file.namelist() if "__pycache__" in name or name.startswith("/")]
`;
    run(["python3", "-c", check, path]);
  });

  test.skipIf(lacksPip)("has metadata that installers read without a complaint", async () => {
    const path = join(folder.path, "checked.whl");
    writeFileSync(path, (await wheel(BUILD)).content);
    // The parser of the package index, which pip carries.
    const check = `
import sys, zipfile
try:
    from packaging.metadata import Metadata
except ImportError:
    try:
        from pip._vendor.packaging.metadata import Metadata
    except ImportError:
        sys.exit()
text = zipfile.ZipFile(sys.argv[1]).read("svc-1.2.3.dist-info/METADATA")
try:
    found = Metadata.from_email(text, validate=True)
except Exception as error:
    # An older parser does not know this version of the metadata.
    if "2.4" in repr(getattr(error, "exceptions", error)): sys.exit()
    raise
assert (found.name, str(found.version), str(found.requires_python)) == ("svc", "1.2.3", ">=3.10")
`;
    run(["python3", "-c", check, path]);
  });

  test("of a run from source is older than any release", async () => {
    expect((await wheel({ version: "v0.0.0-dev", builtAt: "unknown" })).name).toBe("svc-0.0.0.dev0-py3-none-any.whl");
  });
});

describe("the index of the mirror", () => {
  test.skipIf(lacksPip)(
    "is one that pip installs from",
    async () => {
      const install = (...words: string[]) =>
        said(
          [
            python,
            "-m",
            "pip",
            "install",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--index-url",
            `${server.server.url}/simple`,
            ...words,
          ],
          {
            PIP_CONFIG_FILE: "/dev/null",
          },
        );
      await install("svc==1.2.0");
      const version = () =>
        said([python, "-I", "-c", "import svc; from importlib.metadata import version; print(svc.__version__, version('svc'))"]);
      expect(await version()).toBe("1.2.0 1.2.0\n");
      await install("--upgrade", "svc");
      expect(await version()).toBe("1.2.3 1.2.3\n");
      const used = "from svc.client import AsyncSvcClient, SvcClient; from svc.features import features; print(SvcClient.__module__)";
      expect(await said([python, "-I", "-c", used])).toBe("svc.client\n");
    },
    300_000,
  );

  test("in HTML and in JSON, as the caller likes it", async () => {
    const html = await get("/simple/svc/");
    expect(html.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const text = await html.text();
    const [{ content, name }] = files as [PackageFile];
    expect(text).toContain(
      `<a href="../../releases/v1.2.3/${name}#sha256=${sha256(content)}" data-requires-python="&gt;=3.10">${name}</a>`,
    );
    expect([...text.matchAll(/<a /g)].length).toBe(2);
    const accept = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01";
    const json = await get("/simple/svc/", { accept });
    expect(json.headers.get("content-type")).toBe("application/vnd.pypi.simple.v1+json");
    expect(await json.json()).toEqual({
      meta: { "api-version": "1.1" },
      name: "svc",
      versions: ["1.2.3", "1.2.0"],
      files: [BUILD, OLDER].map(({ builtAt, version }) => ({
        filename: `svc-${version.slice(1)}-py3-none-any.whl`,
        url: `../../releases/${version}/svc-${version.slice(1)}-py3-none-any.whl`,
        hashes: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        "requires-python": ">=3.10",
        size: expect.any(Number),
        "upload-time": builtAt,
      })),
    });
    expect(await (await get("/simple/", { accept })).json()).toEqual({ meta: { "api-version": "1.1" }, projects: [{ name: "svc" }] });
    expect(await (await get("/simple/")).text()).toContain('<a href="svc/">svc</a>');
    for (const [given, wanted] of [
      ["*/*", "text/html; charset=utf-8"],
      ["application/vnd.pypi.simple.v1+html", "application/vnd.pypi.simple.v1+html; charset=utf-8"],
      ["text/html;q=0.9, application/vnd.pypi.simple.v1+json;q=nonsense", "text/html; charset=utf-8"],
    ] as const)
      expect((await get("/simple/svc/", { accept: given })).headers.get("content-type")).toBe(wanted);
  });

  test("has nothing else", async () => {
    for (const path of ["/simple", "/simple/svc", "/simple/SVC/"]) {
      const moved = await get(path);
      expect([moved.status, moved.headers.get("location")]).toEqual([301, path === "/simple" ? "/simple/" : "/simple/svc/"]);
    }
    expect((await get("/simple/requests/")).status).toBe(404);
    expect((await get("/simple/svc/more/")).status).toBe(404);
    expect((await get("/simple/..%2freleases/")).status).toBe(404);
    expect((await get("/simple/svc/", {}, "POST")).status).toBe(405);
    const head = await get("/simple/svc/", {}, "HEAD");
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("follows the feed", async () => {
    const path = join(feed, "index.json");
    const before = readFileSync(path, "utf8");
    const index = JSON.parse(before) as { releases: { version: string }[] };
    writeFileSync(path, JSON.stringify({ ...index, releases: index.releases.filter(({ version }) => version !== OLDER.version) }));
    expect([...(await (await get("/simple/svc/")).text()).matchAll(/<a /g)].length).toBe(1);
    writeFileSync(path, before);
    expect([...(await (await get("/simple/svc/")).text()).matchAll(/<a /g)].length).toBe(2);
  });
});

describe("the npm package", () => {
  test.skipIf(lacksProgram("npm"))(
    "is one that npm installs from the mirror, and TypeScript checks",
    async () => {
      const project = join(folder.path, "npm");
      mkdirSync(project);
      writeFileSync(join(project, "package.json"), '{"name": "user", "private": true, "type": "module"}');
      const [, { name }] = files as [PackageFile, PackageFile];
      const url = `${server.server.url}/releases/v1.2.3/${name}`;
      await said(["npm", "install", "--prefix", project, "--no-audit", "--no-fund", "--cache", join(folder.path, "npm-cache"), url]);
      const installed = JSON.parse(readFileSync(join(project, "node_modules/svc-client/package.json"), "utf8"));
      expect([installed.name, installed.version, installed.dependencies]).toEqual(["svc-client", "1.2.3", undefined]);
      const used = 'import { SvcClient } from "svc-client"; console.log(typeof SvcClient.prototype.query)';
      writeFileSync(join(project, "used.mjs"), used);
      expect(await said(["node", join(project, "used.mjs")])).toBe("function\n");
      expect(await said([process.execPath, join(project, "used.mjs")])).toBe("function\n");
      cpSync(join(import.meta.dir, "../fixtures/typescript-client/typed-use.ts"), join(project, "typed-use.ts"));
      const tsc = join(import.meta.dir, "../../node_modules/.bin/tsc");
      const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "--types", ""];
      await said([tsc, "--ignoreConfig", ...options, join(project, "typed-use.ts")]);
    },
    300_000,
  );

  test("is the same each time", async () => {
    expect(sha256((await npmPackage(BUILD)).content)).toBe(sha256((await npmPackage(BUILD)).content));
  });
});

describe("the commands", () => {
  const dir = tempFolder();

  test("write what a release has", async () => {
    const written = await runCommand("sdk/wheel", ["--out", "dist"], { dir });
    const path = join(dir, "dist/svc-0.0.0.dev0-py3-none-any.whl");
    expect([written.exitCode, written.stdout]).toEqual([0, `${path}\n`]);
    const again = await runCommand("sdk/wheel", ["--out", "dist", "--json"], { dir });
    expect(again.json()).toEqual({ path, bytes: readFileSync(path).length, sha256: sha256(readFileSync(path)) });
    const npm = await runCommand("sdk/typescript", ["--json"], { dir });
    expect((npm.json() as { path: string }).path).toBe(join(dir, "svc-client-0.0.0-dev.tgz"));
  });

  test.skipIf(lacksPip)(
    "install into an environment: one that is named, the active one, and .venv",
    async () => {
      const location = (name: string) => expect.stringContaining(join(folder.path, name, "lib/python"));
      const named = await runCommand("sdk/install", ["--python", join(folder.path, "venv"), "--json"], { dir });
      expect(named.stderr).toBe("");
      expect(named.json()).toEqual({
        python: python,
        python_version: expect.stringMatching(/^3\.\d+\.\d+$/),
        version: "0.0.0.dev0",
        location: location("venv"),
      });
      const active = await runCommand("sdk/install", [], { dir, env: { VIRTUAL_ENV: join(folder.path, "venv") } });
      expect(active.stdout).toContain("svc 0.0.0.dev0 is installed for Python 3.");
      const interpreter = await runCommand("sdk/install", ["--python", python, "--json"], { dir });
      expect(interpreter.exitCode).toBe(0);
      const beside = tempFolder();
      symlinkSync(join(folder.path, "venv"), join(beside, ".venv"));
      const found = await runCommand("sdk/install", ["--json"], { dir: beside, env: { VIRTUAL_ENV: "" } });
      expect(found.json()).toMatchObject({ python: join(beside, ".venv/bin/python") });
    },
    300_000,
  );

  test("say why they do not", async () => {
    const bare = emptyEnvironment("bare", "--without-pip");
    const old = join(folder.path, "old-python");
    writeFileSync(
      old,
      `#!/bin/sh\necho '{"executable": "/usr/bin/old", "version": "3.7.1", "minor": 7, "isVirtual": false, "isManaged": false, "hasPip": true}'\n`,
    );
    const managed = join(folder.path, "managed-python");
    writeFileSync(
      managed,
      `#!/bin/sh\necho '{"executable": "/usr/bin/p", "version": "3.12.1", "minor": 12, "isVirtual": false, "isManaged": true, "hasPip": true}'\n`,
    );
    const broken = join(folder.path, "broken-python");
    writeFileSync(broken, "#!/bin/sh\necho no >&2\nexit 3\n");
    for (const path of [old, managed, broken]) chmodSync(path, 0o755);
    const machine: Partial<Machine> = { which: () => undefined };
    for (const [words, says] of [
      [[], "there is no virtual environment here"],
      [["--python", "nowhere"], "nowhere is neither a virtual environment nor an interpreter"],
      [["--python", "./nowhere/python"], "neither a virtual environment nor"],
      [["--python", old], "/usr/bin/old is Python 3.7.1, and the package needs 3.10 or newer"],
      [["--python", managed], "/usr/bin/p belongs to the system"],
      [["--python", broken], "is no Python that can be used: no"],
      [["--python", bare], "has no pip, and there is no uv on PATH"],
    ] as const) {
      const refused = await runCommand("sdk/install", words, { dir, machine });
      expect([words, refused.exitCode]).toEqual([words, 1]);
      expect(refused.stderr).toContain(says);
    }
  }, 300_000);
});
