/** The steps of `build.ts`, from its arguments to the files. */

import { mkdir, rm } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { publicKeyText } from "../domain/release/minisign.ts";
import { type BuildArguments, parseBuildArguments, USAGE } from "./arguments.ts";
import { compile } from "./compile.ts";
import { figuresTable } from "./figures.ts";
import { PackagingError } from "./packaging-error.ts";
import { provenanceOf, timeText } from "./provenance.ts";
import { publish, readFeed, renew } from "./publish.ts";
import { buildRelease } from "./release.ts";
import { requiredSigningKey, signingKey, writeNewKey } from "./signing-key.ts";

const DAY_MS = 86_400_000;
/** Compression of what a single binary holds: quick, and nearly as small as it can be. */
const SINGLE_LEVEL = 9;

/** The folders of a build. */
export interface BuildContext {
  /**
   * Folder of the sources and working directory of this process: the names of a binary's modules
   * depend on it.
   */
  readonly root: string;
  /** Folder that paths of the command line are relative to. */
  readonly cwd: string;
  /** Version of package.json. */
  readonly packageVersion: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs the build that `argv` describes. Throws PackagingError. */
export async function build(argv: readonly string[], context: BuildContext): Promise<void> {
  if (argv.includes("--help")) return console.log(USAGE);
  const wanted = parseBuildArguments(argv, context.packageVersion);
  if (wanted.newKey !== undefined) return console.log(await writeNewKey(resolve(context.cwd, wanted.newKey)));
  if (wanted.renew !== undefined) return renewFeed(wanted.renew, wanted.expiresDays, context);
  return wanted.single ? buildSingle(wanted, context) : buildAll(wanted, context);
}

async function buildSingle({ version, targets, out, baseUrl, tables }: BuildArguments, { root, cwd, env }: BuildContext): Promise<void> {
  const outfile = out === undefined ? join(root, process.platform === "win32" ? "dist/svc.exe" : "dist/svc") : resolve(cwd, out);
  const [target] = targets ?? [];
  const key = await signingKey(env);
  await mkdir(dirname(outfile), { recursive: true });
  const facts = {
    ...provenanceOf(root, env),
    version,
    target: target?.name ?? "",
    publicKey: key ? publicKeyText(key.public) : "",
    releaseHost: baseUrl,
  };
  await compile(root, outfile, facts, { bunTarget: target?.bun, tables: { included: tables, level: SINGLE_LEVEL } });
  if (!target) await checkRuns(outfile, version);
  console.log(`${relative(cwd, outfile)} ${version}`);
}

async function buildAll(wanted: BuildArguments, { root, cwd, env }: BuildContext): Promise<void> {
  const started = performance.now();
  const key = await requiredSigningKey(env);
  const { version, targets = [], baseUrl, level } = wanted;
  const release = wanted.out === undefined ? join(root, "dist", version) : resolve(cwd, wanted.out);
  const now = Date.now();
  const expiresAt = timeText(now + wanted.expiresDays * DAY_MS);
  const provenance = provenanceOf(root, env);
  const feed = wanted.publish === undefined ? undefined : resolve(cwd, wanted.publish);
  if (feed !== undefined) await readFeed(feed, key);
  const deltasFrom = wanted.deltasFrom.map((dir) => resolve(cwd, dir));
  const progress = (line: string) => console.error(line);
  const built = await buildRelease({
    root,
    out: release,
    version,
    provenance,
    targets,
    key,
    baseUrl,
    expiresAt,
    level,
    tables: wanted.tables,
    deltasFrom,
    progress,
  });
  if (feed !== undefined) {
    const index = await publish({ root, release, feed, key, now: timeText(now), expiresAt });
    console.error(`published ${version} in ${wanted.publish}, where ${index.latest} is the latest`);
  }
  console.log(figuresTable(built, (performance.now() - started) / 1000));
}

async function renewFeed(feed: string, expiresDays: number, { cwd, env }: BuildContext): Promise<void> {
  const key = await requiredSigningKey(env);
  const { latest, expires_at } = await renew({ feed: resolve(cwd, feed), key, expiresAt: timeText(Date.now() + expiresDays * DAY_MS) });
  console.log(`${feed} says until ${expires_at} that ${latest} is the latest`);
}

async function checkRuns(outfile: string, version: string): Promise<void> {
  const check = Bun.spawnSync([outfile, "version", "--tag-only"], { env: { PATH: process.env.PATH ?? "" } });
  if (check.stdout.toString().trim() === version) return;
  await rm(outfile, { force: true });
  throw new PackagingError(`the binary does not run: ${check.stderr.toString() || check.stdout.toString() || `exit ${check.exitCode}`}`);
}
