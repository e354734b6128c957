/** The compilation of the sources into one executable file. */

import { chmod, mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bakePlugin } from "./bake.ts";
import { duckdbPlugin, type TableOptions } from "./duckdb.ts";
import { jqEnginePlugin } from "./jq-engine.ts";
import { kafkaClientPlugin } from "./kafka-client.ts";
import { ensureSigned } from "./mach-o-signature.ts";
import { modulesByPathPlugin } from "./modules-by-path.ts";
import { PackagingError } from "./packaging-error.ts";

/** The facts baked into a binary; `src/build-info.ts` reads them. */
export interface BakedFacts {
  readonly version: string;
  readonly commit: string;
  /** RFC 3339, UTC. */
  readonly builtAt: string;
  /** Empty outside of a release. */
  readonly target: string;
  /** Empty without a key. */
  readonly publicKey: string;
  /** Empty when there is none. */
  readonly releaseHost: string;
}

/**
 * Arguments that the runtime reads before those of the user. The first forbids turning text into
 * code, and with it the inspector and the module that `BUN_INSPECT_PRELOAD` names. The second ends
 * the runtime's own options: those of `BUN_OPTIONS` come after it, where they are ignored.
 */
const RUNTIME_ARGUMENTS = ["--disallow-code-generation-from-strings=strict", "--"];

/** Options of a compilation, beside the sources and facts. */
export interface CompileOptions {
  /** Bun's name of the runtime; undefined for this machine's. */
  readonly bunTarget?: string | undefined;
  /** The library of the table engine. */
  readonly tables: TableOptions;
  /**
   * Whether source maps of its modules are written beside it, and bytecode is left out: for
   * `source-maps.ts`.
   */
  readonly sourceMaps?: boolean;
}

/**
 * Compiles the sources below `root` into the executable `outfile`, completely or not at all. macOS
 * runs it without further signing. Throws PackagingError.
 */
export async function compile(
  root: string,
  outfile: string,
  facts: BakedFacts,
  options: Omit<CompileOptions, "sourceMaps">,
): Promise<void> {
  const temporary = join(dirname(outfile), `.building-${process.pid}-${facts.target || "single"}`);
  await mkdir(temporary, { recursive: true });
  try {
    const written = await executable(root, join(temporary, outfile.endsWith(".exe") ? "svc.exe" : "svc"), facts, options);
    if (options.bunTarget?.startsWith("bun-darwin-")) await ensureSigned(written);
    await chmod(written, 0o755);
    await rename(written, outfile);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * Bundles the sources and writes the executable, whose name becomes part of it. It contains every
 * file and module, and loads nothing from the folder in which it runs. Returns the file's path.
 * Throws PackagingError.
 */
export async function executable(root: string, outfile: string, facts: BakedFacts, options: CompileOptions): Promise<string> {
  const { bunTarget, tables, sourceMaps = false } = options;
  const result = await Bun.build({
    ...bundled(root, facts, duckdbPlugin(root, bunTarget, tables)),
    throw: false,
    bytecode: !sourceMaps,
    sourcemap: sourceMaps ? "external" : "none",
    compile: {
      outfile,
      ...(bunTarget ? { target: bunTarget as Bun.Build.CompileTarget } : {}),
      execArgv: RUNTIME_ARGUMENTS,
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  if (!result.success)
    throw new PackagingError(`${facts.target || "the binary"} cannot be built:\n${result.logs.map(({ message }) => message).join("\n")}`);
  return outfile;
}

/**
 * The bundler's configuration for the sources below `root`, for the binary and for tools that
 * inspect it.
 * @param more plugins for what differs between binaries
 */
export function bundled(root: string, facts: BakedFacts, ...more: readonly Bun.BunPlugin[]): Bun.BuildConfig {
  return {
    plugins: [modulesByPathPlugin(root), bakePlugin, kafkaClientPlugin, jqEnginePlugin, ...more],
    entrypoints: ["src/main.ts", ...workerEntries(root)].map((path) => join(root, path)),
    root,
    target: "bun",
    format: "esm",
    minify: true,
    splitting: true,
    jsx: { runtime: "automatic", importSource: "preact", development: false },
    define: {
      SVC_VERSION: JSON.stringify(facts.version),
      SVC_COMMIT: JSON.stringify(facts.commit),
      SVC_BUILD_TIME: JSON.stringify(facts.builtAt),
      SVC_TARGET: JSON.stringify(facts.target),
      SVC_PUBLIC_KEY: JSON.stringify(facts.publicKey),
      SVC_RELEASE_HOST: JSON.stringify(facts.releaseHost),
    },
  };
}

/**
 * The entry points of worker threads; `src/server/thread/worker-entry.ts` finds them in the binary.
 */
function workerEntries(root: string): string[] {
  return [...new Bun.Glob("src/server/**/*-worker.ts").scanSync(root)].sort();
}
