/** Images that callers ask for with files of their own, which are here while one is built. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { checkImageSpec, type ImageFile, type ImageSpec } from "./image-spec.ts";
import type { Images } from "./images.ts";

/** A file with its content. */
export interface SentFile {
  /** In the image, relative to its working folder, with `/`. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
}

/** An image as a caller asks for it. */
export interface RequestedImage {
  readonly environmentId: string;
  readonly base: string;
  /** Packages by name, as lines of a requirements file. */
  readonly packages: readonly string[];
  /** Empty = that of the base. */
  readonly workdir: string;
  readonly files: readonly SentFile[];
}

const MAX_PACKAGES = 500;
const MAX_PACKAGE = 1_000;
const MAX_FILES = 5_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** A requirement by its name, with extras, versions and a marker; no option, file or address. */
const PACKAGE = /^[A-Za-z0-9][A-Za-z0-9._-]* *(?:\[[A-Za-z0-9._, -]*\])? *(?:[<>=!~(;][A-Za-z0-9 .,_<>=!~()*+;'"-]*)?$/;

/**
 * Makes an image that is not there yet. Rejects with Failure.
 * @param folder where the files are meanwhile; that of the images, which removes what is left
 * @returns its name in the engine
 */
export async function buildRequested(
  images: Pick<Images, "ensure" | "resume">,
  folder: string,
  requested: RequestedImage,
  signal: AbortSignal,
): Promise<string> {
  const { base, environmentId, files, packages, workdir } = requested;
  check(requested);
  const spec: ImageSpec = { base, requirements: packages.join("\n"), root: undefined, files: [], env: {}, workdir };
  checkImageSpec({ ...spec, files: files.map(({ path }) => ({ path, source: "" })) });
  await images.resume();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const own = await mkdtemp(join(folder, "files-"));
  try {
    const written: ImageFile[] = [];
    for (const [at, { content, executable, path }] of files.entries()) {
      const source = join(own, String(at));
      await writeFile(source, content, { mode: executable ? 0o700 : 0o600 });
      written.push({ path, source });
    }
    return await images.ensure({ environmentId, deploymentId: "", name: "", spec: { ...spec, files: written } }, signal);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

function check({ files, packages, workdir }: RequestedImage): void {
  const refuse = (what: string, hint?: string): never => {
    throw new Failure("invalid_argument", what, hint === undefined ? {} : { hint });
  };
  if (packages.length > MAX_PACKAGES) refuse(`An image is given at most ${MAX_PACKAGES} packages, not ${packages.length}.`);
  const wrong = packages.find((name) => name.length > MAX_PACKAGE || !PACKAGE.test(name));
  if (wrong !== undefined)
    refuse(
      `${JSON.stringify(wrong.slice(0, 100))} is no package of an image.`,
      "A package is named, with versions where they matter: httpx>=0.27.",
    );
  if (files.length > MAX_FILES) refuse(`An image is given at most ${MAX_FILES} files, not ${files.length}.`);
  if (files.reduce((bytes, { content }) => bytes + content.length, 0) > MAX_BYTES)
    refuse(`The files of an image that is asked for have at most ${MAX_BYTES / 1024 / 1024} MiB in all.`);
  if (files.length > 0 && workdir === "") refuse("Files of an image lie in its working folder, and none is named.");
}
