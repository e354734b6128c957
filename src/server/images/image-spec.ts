/** What an image of the platform is made of, its bounds, and the Dockerfile that says so. */

import { isPortableName } from "../../domain/portable-name.ts";
import { checkImage } from "../containers/container-spec.ts";
import { isHostImage } from "../engines/host/host-image.ts";
import { Failure } from "../failure.ts";

/** A file of this machine that an image gets. */
export interface ImageFile {
  /** In the image, relative to its working folder, with `/`. */
  readonly path: string;
  /** Absolute, on this machine. */
  readonly source: string;
}

/** What an image is made of. */
export interface ImageSpec {
  /** Image that it begins with, as the engine names it; fetched when it is not there. */
  readonly base: string;
  /** Text of a requirements file; empty = none. The base has a Python with `venv` otherwise. */
  readonly requirements: string;
  /** Folder in which the requirements look up files that they name; undefined = they name none. */
  readonly root: string | undefined;
  /** At most 20,000, of 512 MiB in all. */
  readonly files: readonly ImageFile[];
  /** Variables; at most 100, of 64 KiB in all, without line breaks. */
  readonly env: Readonly<Record<string, string>>;
  /** Working folder, an absolute path; empty = that of the base. */
  readonly workdir: string;
}

/** Where the virtual environment with the requirements is in an image. */
export const PACKAGES = "/opt/svc/venv";
/** Folder of the context with the files. */
export const FILES = "files";

const MAX_FILES = 20_000;
const MAX_VARIABLES = 100;
const MAX_TEXT_BYTES = 65_536;
const MAX_REQUIREMENTS_BYTES = 262_144;
const MAX_PATH = 1_000;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FOLDER = /^(?:\/[\w.@+-]+)+$/;
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Throws Failure invalid_argument for what no image is made of. */
export function checkImageSpec({ base, env, files, requirements, workdir }: ImageSpec): void {
  const refuse = (what: string, hint?: string): never => {
    throw new Failure("invalid_argument", what, hint === undefined ? {} : { hint });
  };
  checkImage(base);
  if (isHostImage(base)) refuse("`host:` means programs of the server's own machine, and nothing is made of it.", "Name an image.");
  if (workdir !== "" && (!FOLDER.test(workdir) || workdir.length > MAX_PATH || /\/\.\.?(?=\/|$)/.test(workdir)))
    refuse(
      `${JSON.stringify(workdir.slice(0, 200))} is no working folder of an image.`,
      "It is an absolute path of letters, digits and _ . @ + -, for example /app.",
    );
  if (Buffer.byteLength(requirements) > MAX_REQUIREMENTS_BYTES)
    refuse(`The requirements of an image have at most ${MAX_REQUIREMENTS_BYTES / 1024} KiB.`);
  const variables = Object.entries(env);
  if (variables.length > MAX_VARIABLES) refuse(`An image has at most ${MAX_VARIABLES} variables.`);
  if (variables.reduce((bytes, [name, value]) => bytes + Buffer.byteLength(name + value), 0) > MAX_TEXT_BYTES)
    refuse(`The variables of an image have at most ${MAX_TEXT_BYTES / 1024} KiB in all.`);
  for (const [name, value] of variables) {
    if (!VARIABLE.test(name)) refuse(`${JSON.stringify(name.slice(0, 100))} is no name of a variable.`);
    if (/[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(value))
      refuse(`The variable ${name} of an image has a line break or another control character in it.`, "Give it to the container instead.");
  }
  if (files.length > MAX_FILES) refuse(`An image is given at most ${MAX_FILES} files, not ${files.length}.`);
  const seen = new Set<string>();
  for (const { path } of files) {
    if (path.length > MAX_PATH || !path.split("/").every(isPlainName))
      refuse(
        `${JSON.stringify(path.slice(0, 200))} is no path of a file in an image.`,
        "It is relative to the working folder, without '..'.",
      );
    if (seen.has(path)) refuse(`The file ${path} is given to the image twice.`);
    seen.add(path);
  }
}

function isPlainName(name: string): boolean {
  return !/[\u0000-\u001f\u007f\\]/.test(name) && name !== "" && name !== "." && name !== ".." && isPortableName(name);
}

/**
 * The Dockerfile of an image that was checked: requirements before files, so that other files leave
 * their layer as it is.
 * @param packages the image with the virtual environment; undefined = there are no requirements
 * @param path the variable PATH of the base
 */
export function dockerfileOf(spec: ImageSpec, packages: string | undefined, path: string | undefined): string {
  const variables = {
    ...(packages !== undefined && { PATH: `${PACKAGES}/bin:${path ?? DEFAULT_PATH}`, VIRTUAL_ENV: PACKAGES }),
    ...spec.env,
  };
  return [
    `FROM ${spec.base}`,
    ...(packages === undefined ? [] : [`COPY --from=${packages} ${PACKAGES} ${PACKAGES}`]),
    ...Object.entries(variables).map(([name, value]) => `ENV ${name}=${quoted(value)}`),
    ...(spec.workdir === "" ? [] : [`WORKDIR ${spec.workdir}`]),
    ...(spec.files.length === 0 ? [] : [`COPY ${FILES}/ ./`]),
    "",
  ].join("\n");
}

/** A value that is itself and nothing else in a Dockerfile. */
function quoted(value: string): string {
  return `"${value.replaceAll(/["\\$]/g, "\\$&")}"`;
}
