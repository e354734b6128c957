/**
 * Builds `svc` for one machine or all of them.
 *
 *   bun build.ts --single      dist/svc for this machine
 *   bun build.ts               every target of the table, dist/svc-<target>, with dist/SHA256SUMS
 *
 * Every file and module is inside the binary, and nothing of the folder it runs in is loaded: see `compile` below.
 */

import { mkdir, rename, rm } from "node:fs/promises";
import manifest from "./package.json" with { type: "json" };

/** Bun's target triple and the name of the file it gives. */
const TARGETS = {
  "linux-amd64": "bun-linux-x64-baseline",
  "linux-arm64": "bun-linux-arm64",
  "linux-amd64-musl": "bun-linux-x64-musl-baseline",
  "linux-arm64-musl": "bun-linux-arm64-musl",
  "darwin-amd64": "bun-darwin-x64-baseline",
  "darwin-arm64": "bun-darwin-arm64",
  "windows-amd64": "bun-windows-x64-baseline",
} as const;

function git(...args: string[]): string {
  const result = Bun.spawnSync(["git", ...args], { cwd: import.meta.dir, stderr: "ignore" });
  return result.success ? result.stdout.toString().trim() : "";
}

/** SOURCE_DATE_EPOCH makes builds reproducible (reproducible-builds.org/specs/source-date-epoch). */
function buildTime(): string {
  const epoch = process.env.SOURCE_DATE_EPOCH;
  return new Date(epoch ? Number(epoch) * 1000 : Date.now()).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Worker threads are entry points of their own; `src/server/worker-entry.ts` finds them in the binary. */
function workerEntries(): string[] {
  return [...new Bun.Glob("src/server/**/*-worker.ts").scanSync(import.meta.dir)].sort();
}

async function build(outfile: string, target?: string): Promise<void> {
  const temporary = `${outfile}.building`;
  const result = await Bun.build({
    entrypoints: ["src/main.ts", ...workerEntries()],
    root: import.meta.dir,
    target: "bun",
    format: "esm",
    minify: true,
    splitting: true,
    bytecode: true,
    define: {
      SVC_VERSION: JSON.stringify(`v${manifest.version}`),
      SVC_COMMIT: JSON.stringify(git("rev-parse", "HEAD") || "unknown"),
      SVC_BUILD_TIME: JSON.stringify(buildTime()),
    },
    compile: {
      outfile: temporary,
      ...(target ? { target: target as Bun.Build.CompileTarget } : {}),
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  if (!result.success) throw new AggregateError(result.logs, "build failed");
  const written = outfile.endsWith(".exe") ? `${temporary}.exe` : temporary;
  await rename((await Bun.file(written).exists()) ? written : temporary, outfile);
}

process.chdir(import.meta.dir);
await mkdir("dist", { recursive: true });
if (process.argv.includes("--single")) {
  const outfile = process.platform === "win32" ? "dist/svc.exe" : "dist/svc";
  await build(outfile);
  const check = Bun.spawnSync([`./${outfile}`, "version", "--tag-only"], { env: { PATH: process.env.PATH ?? "" } });
  if (check.stdout.toString().trim() !== `v${manifest.version}`) {
    await rm(outfile, { force: true });
    throw new Error(`the binary does not run: ${check.stderr.toString() || check.stdout.toString() || `exit ${check.exitCode}`}`);
  }
  console.log(`${outfile} v${manifest.version}`);
} else {
  const sums: string[] = [];
  for (const [name, target] of Object.entries(TARGETS)) {
    const outfile = `dist/svc-${name}${name.startsWith("windows") ? ".exe" : ""}`;
    await build(outfile, target);
    const hash = new Bun.CryptoHasher("sha256").update(await Bun.file(outfile).arrayBuffer()).digest("hex");
    sums.push(`${hash}  ${outfile.slice("dist/".length)}`);
    console.log(outfile);
  }
  await Bun.write("dist/SHA256SUMS", `${sums.join("\n")}\n`);
}
