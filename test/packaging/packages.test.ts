/**
 * The manifests of package managers and the CI action: well formed, complete, and with the sums of
 * the files that are there.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolve } from "../../src/cli/resolve.ts";
import { commandTree } from "../../src/commands/index.ts";
import type { ReleaseFile, ReleaseManifest } from "../../src/domain/release/manifest.ts";
import { createSecretKey } from "../../src/domain/release/minisign.ts";
import { archiveNames } from "../../src/packaging/archives.ts";
import { describeArchives, fillTemplate, type SkippedTemplate, templateNames, writePackages } from "../../src/packaging/packages.ts";
import { lacksProgram } from "../harness/needs.ts";
import { writeSmallRelease } from "./release-on-disk.ts";

const BASE = "https://releases.example.com/svc";
const root = mkdtempSync(join(tmpdir(), "svc-packages-"));
const release = join(root, "release");
const packages = join(root, "packages");
let manifest: ReleaseManifest;
let archives: Readonly<Record<string, ReleaseFile>>;
let leftOut: readonly SkippedTemplate[];
beforeAll(async () => {
  const content = (target: string) => `#!/bin/sh\necho "svc for ${target}: $*"\n`;
  manifest = await writeSmallRelease({ dir: release, version: "v1.2.3", key: await createSecretKey(), content });
  archives = await describeArchives(release, "v1.2.3", Object.keys(manifest.targets));
  leftOut = await writePackages(packages, { manifest, archives, baseUrl: BASE });
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const read = (name: string) => readFileSync(join(packages, name), "utf8");
const sumOf = (file: string) =>
  createHash("sha256")
    .update(readFileSync(join(release, file)))
    .digest("hex");
const archiveOf = (target: string) => archiveNames("v1.2.3", target).file;

test("every template is filled in, and no placeholder is left", () => {
  expect(leftOut).toEqual([]);
  expect(templateNames()).toContain("action.yml");
  for (const name of templateNames()) {
    expect(read(name).replaceAll(/\$\{\{ [\w.| -]+ \}\}/g, "")).not.toMatch(/\{ ?\{|\} ?\}/);
    expect(read(name)).not.toContain("undefined");
  }
});

test("sums and URLs are those of files of the release", () => {
  const sums = new Set([...Object.values(manifest.targets), ...Object.values(archives)].map(({ sha256 }) => sha256));
  for (const name of templateNames()) {
    for (const [sum] of read(name).matchAll(/\b[0-9a-fA-F]{64}\b/g)) expect(sums).toContain(sum.toLowerCase());
    for (const [, file] of read(name).matchAll(/releases\/v1\.2\.3\/(svc[\w.-]+)/g))
      expect(existsSync(join(release, file ?? ""))).toBe(true);
  }
});

test("without a base URL, or a target, what names it is left out; a placeholder that means nothing is a mistake", async () => {
  const { "darwin-arm64": _, ...targets } = manifest.targets;
  const reasons = async (facts: { manifest: ReleaseManifest; baseUrl: string }) =>
    Object.fromEntries(
      (await writePackages(join(root, "some"), { archives, ...facts })).map(({ template, missing }) => [template, missing]),
    );
  expect(await reasons({ manifest, baseUrl: "" })).toMatchObject({
    "svc.rb": "the base URL",
    "action.yml": "the base URL",
    "winget/svc.svc.installer.yaml": "the base URL",
  });
  expect(await reasons({ manifest: { ...manifest, targets }, baseUrl: BASE })).toEqual({ "action.yml": "darwin-arm64" });
  expect(() => fillTemplate("{{sha512:linux-amd64}}", { manifest, archives, baseUrl: BASE })).toThrow("{{sha512:linux-amd64}}");
});

test("Homebrew's formula has the archive of each machine", () => {
  const formula = read("svc.rb");
  for (const target of ["darwin-arm64", "darwin-amd64", "linux-arm64", "linux-amd64-baseline"])
    expect(formula).toContain(`url "${BASE}/releases/v1.2.3/${archiveOf(target)}"\n      sha256 "${sumOf(archiveOf(target))}"`);
  expect(formula.match(/\b(do|def|class)\b/g)?.length).toBe(formula.match(/^\s*end$/gm)?.length ?? 0);
});

test.skipIf(lacksProgram("ruby"))("ruby reads the formula", () => {
  const result = Bun.spawnSync(["ruby", "-c", join(packages, "svc.rb")]);
  expect(result.stderr.toString() + result.stdout.toString()).toContain("Syntax OK");
});

test("Scoop's manifest is JSON with both machines", () => {
  const scoop = JSON.parse(read("svc.json"));
  expect(scoop.version).toBe("1.2.3");
  for (const [arch, target] of [
    ["64bit", "windows-amd64"],
    ["arm64", "windows-arm64"],
  ] as const)
    expect(scoop.architecture[arch]).toEqual({
      url: `${BASE}/releases/v1.2.3/${archiveOf(target)}`,
      hash: sumOf(archiveOf(target)),
      extract_dir: `svc-v1.2.3-${target}`,
    });
});

test("winget's three manifests are YAML that speaks of one package", () => {
  const [version, installer, locale] = ["", ".installer", ".locale.en-US"].map(
    (part) => Bun.YAML.parse(read(`winget/svc.svc${part}.yaml`)) as Record<string, unknown>,
  );
  for (const one of [version, installer, locale]) expect(one).toMatchObject({ PackageIdentifier: "svc.svc", PackageVersion: "1.2.3" });
  expect(installer?.Installers).toEqual(
    (["x64", "arm64"] as const).map((arch) => {
      const target = arch === "x64" ? "windows-amd64" : "windows-arm64";
      return {
        Architecture: arch,
        InstallerUrl: `${BASE}/releases/v1.2.3/${archiveOf(target)}`,
        InstallerSha256: sumOf(archiveOf(target)).toUpperCase(),
        NestedInstallerFiles: [{ RelativeFilePath: `svc-v1.2.3-${target}\\svc.exe`, PortableCommandAlias: "svc" }],
      };
    }),
  );
});

test("the Dockerfile copies files of the release, checks their sums, and leaves no root behind", () => {
  const docker = read("Dockerfile");
  for (const arch of ["amd64", "arm64"]) expect(docker).toContain(`${arch}) sum=${sumOf(`svc-linux-${arch}`)} ;;`);
  expect(docker).toMatch(/^FROM debian:12-slim AS base$/m);
  expect(docker.indexOf("sha256sum --check --strict")).toBeLessThan(docker.indexOf("USER svc"));
  for (const need of ["python3", "python3-venv", "git", "ca-certificates"]) expect(docker).toContain(` ${need}`);
});

test("its server starts for other machines, keeps everything in its volume, and is asked whether it runs; the image for CI is the last", () => {
  const docker = read("Dockerfile");
  const [, server = "", ci = ""] = docker.split(/^FROM base.*$/m);
  const words = (instruction: string) =>
    JSON.parse(new RegExp(`^${instruction} [^\\[]*(\\[.*\\])$`, "m").exec(server)?.[1] ?? "[]") as string[];
  for (const instruction of ["HEALTHCHECK", "ENTRYPOINT"]) {
    const [program, ...rest] = words(instruction);
    const { path, entry, after } = resolve(commandTree, rest);
    expect([program, path[0], entry?.load !== undefined, after.length]).toEqual([
      "svc",
      "server",
      true,
      instruction === "ENTRYPOINT" ? 2 : 0,
    ]);
  }
  const volume = /^VOLUME (.*)$/m.exec(server)?.[1];
  expect(server).toContain(`ENV SVC_HOME=${volume} XDG_CONFIG_HOME=${volume}`);
  expect(server).toContain(`RUN mkdir -m 0700 ${volume}`);
  expect(server).not.toContain("SVC_TRUSTED_PROJECTS");
  expect(ci).toContain('CMD ["svc", "help"]');
});

describe("the action", () => {
  const action = () => Bun.YAML.parse(read("action.yml")) as { runs: { using: string; steps: { shell: string; run: string }[] } };

  /** Runs its first step as the CI system does: bash, with the files that the system names. */
  async function runStep(platform: string, from: string): Promise<{ code: number; said: string; path: string; output: string }> {
    const temp = mkdtempSync(join(root, "runner-"));
    const child = Bun.spawn(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", action().runs.steps[0]?.run ?? "exit 9"], {
      env: {
        PATH: process.env.PATH,
        PLATFORM: platform,
        FROM: from,
        RUNNER_TEMP: temp,
        GITHUB_PATH: join(temp, "path"),
        GITHUB_OUTPUT: join(temp, "out"),
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const file = (name: string) => (existsSync(join(temp, name)) ? readFileSync(join(temp, name), "utf8").trim() : "");
    return { code: await child.exited, said: stdout + stderr, path: file("path"), output: file("out") };
  }

  function mirror(dir: string) {
    return Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        const file = Bun.file(join(dir, new URL(request.url).pathname.replace("/releases/v1.2.3/", "")));
        return file.exists().then((found) => (found ? new Response(file) : new Response("no", { status: 404 })));
      },
    });
  }

  test.skipIf(lacksProgram("shellcheck"))("installs in a step of bash that shellcheck has nothing to say about", async () => {
    expect(action().runs).toMatchObject({ using: "composite", steps: [{ shell: "bash" }, { shell: "bash" }] });
    const script = join(root, "step.sh");
    writeFileSync(script, `#!/bin/bash\n${action().runs.steps[0]?.run}`);
    expect(Bun.spawnSync(["shellcheck", script]).stdout.toString()).toBe("");
  });

  test.skipIf(lacksProgram("curl"))("installs what was released, for each machine that it knows, and puts it on the PATH", async () => {
    using server = mirror(release);
    const file =
      existsSync("/lib/ld-musl-x86_64.so.1") && !existsSync("/lib64/ld-linux-x86-64.so.2")
        ? "linux-amd64-musl-baseline"
        : "linux-amd64-baseline";
    for (const [platform, target] of [
      ["Linux-X64", file],
      ["macOS-ARM64", "darwin-arm64"],
      ["Windows-X64", "windows-amd64"],
    ] as const) {
      const { code, said, path, output } = await runStep(platform, server.url.origin);
      expect(said).toBe(`svc for ${target}: version\n`);
      expect(code).toBe(0);
      expect(output).toBe(`path=${path}/svc${platform.startsWith("Windows") ? ".exe" : ""}`);
    }
  });

  test.skipIf(lacksProgram("curl"))(
    "refuses what a mirror changed, a file that is not there, and a machine without a build; the job stops",
    async () => {
      const changed = join(root, "changed");
      mkdirSync(changed);
      writeFileSync(join(changed, "svc-darwin-arm64.gz"), Bun.gzipSync(Buffer.from("#!/bin/sh\necho evil\n")));
      chmodSync(changed, 0o755);
      using server = mirror(changed);
      const refused = await runStep("macOS-ARM64", server.url.origin);
      expect(refused).toMatchObject({ code: 1, path: "", output: "" });
      expect(refused.said).toContain(`is not what was released: its SHA-256 is `);
      expect((await runStep("macOS-X64", server.url.origin)).code).not.toBe(0);
      expect(await runStep("Linux-X86", server.url.origin)).toMatchObject({
        code: 1,
        said: expect.stringContaining("no build for Linux-X86"),
      });
    },
  );
});
