/**
 * Images that the platform makes: a base, requirements, files, variables and a working folder. An
 * image is called by the digest of what it is made of, so the same is never made twice; that of the
 * requirements alone is an image of its own, which others share.
 */

import { rm } from "node:fs/promises";
import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import { lastLines } from "../../python/subprocess.ts";
import { buildRecord } from "../deployments/build-record.ts";
import type { ContainerEngine } from "../engines/container-engine.ts";
import { Failure } from "../failure.ts";
import type { Log } from "../log.ts";
import type { ImageBuildStore } from "../stores/metadata/image-builds.ts";
import { blocksOf, type DigestedFile, digestFiles, digestText, sha256 } from "./build-context.ts";
import { type ImageRequirements, imageRequirements } from "./image-requirements.ts";
import { checkImageSpec, dockerfileOf, FILES, type ImageSpec } from "./image-spec.ts";
import { installPackages } from "./packages.ts";
import { pipSettings } from "./pip-settings.ts";

/** An image that is wanted. */
export interface ImageWish {
  readonly environmentId: string;
  /** Deployment that it is for; empty = for none. */
  readonly deploymentId: string;
  /** Name of the record of its build, unique in the environment; empty = one is made. */
  readonly name: string;
  readonly spec: ImageSpec;
  /** Called with each line of the build; default: nobody reads along. */
  readonly onLine?: (line: string) => void;
}

/** The images. */
export interface Images {
  /**
   * Makes an image that is not there yet; records how, as a build of the environment. Rejects with
   * Failure, which tells of a step that failed with its last lines, and with the signal's reason; a
   * build that nobody waits for any more is stopped.
   * @returns its name in the engine
   */
  ensure(wish: ImageWish, signal: AbortSignal): Promise<string>;
  /** Removes what a server that was killed left in the engine, and old images that nothing uses. */
  resume(): Promise<void>;
  /** Stops all builds. */
  close(): Promise<void>;
}

/** The services that images need. */
export interface ImagesOptions {
  /** Throws Failure failed_precondition without an engine. */
  readonly engine: () => ContainerEngine;
  readonly builds: ImageBuildStore;
  /** Variables of the server, of which pip gets those about indexes. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Folder for what builds need while they go on. */
  readonly folder: string;
  /** Aborted with a reason in words when an environment is suspended or removed. */
  readonly halted: (environmentId: string) => AbortSignal;
  /** Told that what is recorded of an environment's builds has changed; default: nobody is. */
  readonly changed?: (environmentId: string) => void;
  /** Id of this node. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Names of images that stay however old they are: containers are still made of them. */
  readonly needed?: () => Promise<ReadonlySet<string>>;
  /** Most images that are kept; default: 40. */
  readonly mostKept?: number;
}

/** A build that goes on, with those who wait for it. */
interface Build {
  readonly done: Promise<void>;
  readonly stopping: AbortController;
  readonly listeners: Set<(line: string) => void>;
  waiting: number;
}

/** What an image is made of, with all that its name follows from. */
interface Recipe {
  readonly spec: ImageSpec;
  readonly tag: string;
  readonly requirements: ImageRequirements;
  readonly files: readonly DigestedFile[];
  /** Files that the requirements name. */
  readonly named: readonly DigestedFile[];
  /** Name of the image with the packages; undefined = there are no requirements. */
  readonly packages: string | undefined;
  /** The variable PATH of the base. */
  readonly path: string | undefined;
}

/** Changes when the same parts make another image. */
const VERSION = "1";
const REPOSITORY = "localhost/svc";
/** The label of images, which containers that are made of them have too. */
const BUILT_BY = "svc.built-by";
/** The label of containers that end with the server that made them. */
export const TRANSIENT = "svc.transient";
/** Milliseconds since it was asked for that an image is kept, and most of them. */
const KEPT_MS = 14 * 86_400_000;
const MOST_KEPT = 40;
const SHOWN_LINES = 12;
const STEP = /^step \d+/i;

/** Makes the capability. */
export function createImages(options: ImagesOptions): Images {
  const { builds, clock, env, folder, halted, home, log, node } = options;
  const labels = { [BUILT_BY]: node };
  const { mostKept = MOST_KEPT } = options;
  const going = new Map<string, Build>();
  const closing = new AbortController();
  /** When an image was last asked for; for those of earlier servers, this one's start counts. */
  const asked = new Map<string, number>();
  const startedAt = clock.now();
  let last: Promise<unknown> = Promise.resolve();
  let begun: Promise<void> | undefined;

  const recipeOf = async (spec: ImageSpec, signal: AbortSignal): Promise<Recipe> => {
    const requirements = await imageRequirements(spec.requirements, spec.root);
    const base = await options.engine().fetchImage(spec.base, signal);
    const [files, named] = [await digestFiles(spec.files, signal), await digestFiles(requirements.files, signal)];
    const name = (kind: string, parts: readonly unknown[]): string =>
      `${REPOSITORY}/${kind}:${sha256(JSON.stringify([VERSION, base.id, ...parts])).slice(0, 32)}`;
    const packages = requirements.lines.length === 0 ? undefined : name("packages", [requirements.lines, digestText(named)]);
    const tag = name("image", [packages ?? "", digestText(files), Object.entries(spec.env), spec.workdir]);
    return { spec, tag, requirements, files, named, packages, path: base.env.PATH };
  };

  const make = async (
    { files, named, packages, path, requirements, spec, tag }: Recipe,
    onLine: Build["listeners"],
    signal: AbortSignal,
  ) => {
    const engine = options.engine();
    const tell = (line: string): void => {
      for (const listener of onLine) listener(line);
    };
    if (packages !== undefined && !(await engine.image(packages))) {
      const settings = pipSettings(env, home);
      const order = {
        engine,
        base: spec.base,
        tag: packages,
        labels: { ...labels, [TRANSIENT]: node },
        lines: requirements.lines,
        files: named,
        settings,
        folder,
      };
      await installPackages({ ...order, onLine: tell }, signal);
    }
    if (packages !== undefined) asked.set(packages, clock.now());
    let step: string[] = [];
    const follow = (line: string): void => {
      if (STEP.test(line)) step = [];
      step.push(line);
      tell(line);
    };
    const dockerfile = dockerfileOf(spec, packages, path);
    try {
      await engine.build({ tag, dockerfile, context: blocksOf(FILES, files), labels, onLine: follow }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Failure)) throw error;
      const shown = lastLines(step.join("\n"), SHOWN_LINES).map((line) => `  ${line}`);
      throw new Failure(error.kind, [error.message, ...shown].join("\n"));
    }
  };

  /** The build of an image, which waits for those before it: one goes on at a time. */
  const buildOf = (recipe: Recipe): Build => {
    const known = going.get(recipe.tag);
    if (known && !known.stopping.signal.aborted) return known;
    const stopping = new AbortController();
    const listeners: Build["listeners"] = new Set();
    const signal = AbortSignal.any([stopping.signal, closing.signal]);
    const done = last
      .then(async () => {
        signal.throwIfAborted();
        await make(recipe, listeners, signal);
      })
      .finally(() => {
        if (going.get(recipe.tag) === build) going.delete(recipe.tag);
      });
    last = done.catch(() => undefined);
    const build: Build = { done, stopping, listeners, waiting: 0 };
    going.set(recipe.tag, build);
    return build;
  };

  /** Waits for a build, which is stopped when nobody does any more. */
  const join = async (build: Build, onLine: (line: string) => void, signal: AbortSignal): Promise<void> => {
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    build.waiting++;
    build.listeners.add(onLine);
    signal.addEventListener("abort", leave, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([build.done, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      build.listeners.delete(onLine);
      build.waiting--;
      if (build.waiting === 0) build.stopping.abort(signal.reason ?? new Error("nobody waits for the image"));
    }
  };

  /** Begins the record of a build; one that made an image that is gone again has its own. */
  const begin = async ({ deploymentId, environmentId, name }: ImageWish, tag: string, isThere: boolean): Promise<string | undefined> => {
    const first = name === "" ? `image-${tag.slice(tag.indexOf(":") + 1)}` : name;
    const record = { environmentId, deploymentId, kind: "image", venv: "", runtime: "", imageDestinations: [tag] } as const;
    if (await builds.begin({ ...record, name: first })) return first;
    if (isThere) return undefined;
    const again = `${first}-${clock.now().toString(36)}`;
    return (await builds.begin({ ...record, name: again })) ? again : undefined;
  };

  /** Removes images that nobody asked for in a long time, and those beyond the most. */
  const tidy = async (): Promise<void> => {
    const engine = options.engine();
    const found = (await engine.images(BUILT_BY, node)).flatMap(({ createdAt, tags }) =>
      tags.filter((tag) => tag.startsWith(`${REPOSITORY}/`)).map((tag) => ({ tag, at: asked.get(tag) ?? Math.max(createdAt, startedAt) })),
    );
    const order = found.toSorted((a, b) => b.at - a.at);
    const needed = await options.needed?.();
    const old = order.filter((one, index) => index >= mostKept || one.at < clock.now() - KEPT_MS);
    for (const { at, tag } of old.filter((one) => !needed?.has(one.tag)))
      if (asked.get(tag) === at || !asked.has(tag)) if (await engine.removeImage(tag)) asked.delete(tag);
  };
  const sweep = async (): Promise<void> => {
    const engine = options.engine();
    await rm(folder, { recursive: true, force: true });
    for (const { id } of await engine.list(TRANSIENT, node)) await engine.remove(id);
    await tidy();
  };
  const noted = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => log.warning("old images could not be removed", { error: errorText(error) }));
  const resume = (): Promise<void> => {
    begun ??= noted(sweep());
    return begun;
  };

  return {
    async ensure(wish, given) {
      const { environmentId, onLine, spec } = wish;
      checkImageSpec(spec);
      const engine = options.engine();
      const signal = AbortSignal.any([given, halted(environmentId), closing.signal]);
      signal.throwIfAborted();
      await resume();
      const recipe = await recipeOf(spec, signal);
      const { packages, tag } = recipe;
      for (const name of [tag, ...(packages === undefined ? [] : [packages])]) asked.set(name, clock.now());
      const isThere = !going.has(tag) && (await engine.image(tag)) !== undefined;
      const name = await begin(wish, tag, isThere);
      const record = name === undefined ? undefined : buildRecord(builds, environmentId, name, () => options.changed?.(environmentId));
      if (isThere) {
        await record?.end("skipped");
        return tag;
      }
      record?.running();
      const note = (line: string): void => {
        record?.line(line);
        onLine?.(line);
      };
      try {
        await join(buildOf(recipe), note, signal);
        await record?.end("succeeded");
      } catch (error) {
        await record?.end(error instanceof Failure && !signal.aborted ? "failed" : "error", errorText(error));
        throw error;
      }
      await noted(tidy());
      return tag;
    },

    resume,

    async close() {
      closing.abort(new Failure("unavailable", "The server stops."));
      await last;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
