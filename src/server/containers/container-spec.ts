/** What a container runs, as it is asked for: its bounds, and what this platform cannot enforce. */

import type { ContainerSpec, ContainerVariable } from "../../../gen/svc/v1/container_pb.ts";
import { quantityValue } from "../../domain/quantity.ts";
import { Failure } from "../failure.ts";
import type { EnvironmentVariables } from "../secrets/secrets.ts";

/** Names of containers, sandboxes, volumes and scaling groups. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_VARIABLES = 500;
const MAX_TEXT_BYTES = 65_536;
const MAX_IMAGE = 500;
const MAX_VOLUMES = 20;
const MAX_TAGS = 50;
const MAX_TAG = 200;
/** Below this no engine starts a program. */
const LEAST_MEMORY = 4 * 1024 * 1024;
const LEAST_CPU = 0.01;
const MOST_CPU = 1_024;
/** Most names of missing secrets that are told. */
const MOST_SHOWN = 10;
const HOST_IMAGE = /^host:/;

const refuse = (what: string, hint?: string): never => {
  throw new Failure("invalid_argument", what, hint === undefined ? {} : { hint });
};

/** Throws Failure invalid_argument for a name that is none. @param noun for example `container` */
export function checkName(name: string, noun: string): void {
  if (!NAME.test(name))
    refuse(
      `The name of a ${noun} cannot be ${JSON.stringify(name.slice(0, 100))}.`,
      "A name has at most 63 of a-z, 0-9 and '-', with no '-' at its ends.",
    );
}

/** Throws Failure invalid_argument for tags beyond their bounds. */
export function checkTags(tags: Readonly<Record<string, string>>): void {
  const all = Object.entries(tags);
  if (all.length > MAX_TAGS) refuse(`At most ${MAX_TAGS} tags are kept.`);
  if (all.some(([key, value]) => key === "" || key.length > MAX_TAG || value.length > MAX_TAG))
    refuse(`The keys and values of tags have at most ${MAX_TAG} characters, and keys at least one.`);
}

/** Limits of processors and memory; undefined = not limited. */
export interface ResourceLimits {
  readonly cpus: number | undefined;
  readonly memoryBytes: number | undefined;
}

/** The limits that quantities state. Throws Failure invalid_argument. */
export function resourceLimits({ cpu, memory }: { readonly cpu: string; readonly memory: string }): ResourceLimits {
  const cpus = cpu === "" ? undefined : quantityValue(cpu);
  const memoryBytes = memory === "" ? undefined : quantityValue(memory);
  if (cpu !== "" && !(cpus !== undefined && cpus >= LEAST_CPU && cpus <= MOST_CPU))
    refuse(`'${cpu.slice(0, 50)}' is no number of processors from 10m to ${MOST_CPU}.`, "For example 500m or 2.");
  if (memory !== "" && !(memoryBytes !== undefined && memoryBytes >= LEAST_MEMORY))
    refuse(`'${memory.slice(0, 50)}' is no memory of at least 4Mi.`, "For example 256Mi or 2Gi.");
  return { cpus, memoryBytes: memoryBytes === undefined ? undefined : Math.floor(memoryBytes) };
}

/** Throws Failure invalid_argument for what is no image, failed_precondition for `host:`. */
export function checkImage(image: string): void {
  if (image === "" || image.length > MAX_IMAGE || !/^[\w][\w.:/@+-]*$/.test(image))
    refuse(`${JSON.stringify(image.slice(0, 100))} is no image.`, "For example docker.io/library/busybox:1.36.");
  if (HOST_IMAGE.test(image))
    throw new Failure("failed_precondition", "This server runs images in a container engine alone, and nothing on its own machine.", {
      hint: "Name an image; `svc task run` runs code of the project as a process.",
    });
}

/** Throws Failure invalid_argument for variables beyond their bounds. */
export function checkVariables(variables: readonly ContainerVariable[]): void {
  if (variables.length > MAX_VARIABLES) refuse(`A container has at most ${MAX_VARIABLES} variables.`);
  const seen = new Set<string>();
  for (const { name, source } of variables) {
    if (!VARIABLE.test(name)) refuse(`${JSON.stringify(name.slice(0, 100))} is no name of a variable.`);
    if (seen.has(name)) refuse(`The variable ${name} is given twice.`);
    if (source.case === undefined) refuse(`The variable ${name} has no value.`);
    if (source.value?.includes("\0")) refuse(`The variable ${name} has a null character in it.`);
    seen.add(name);
  }
  checkTexts(
    variables.flatMap(({ name, source }) => [name, source.value ?? ""]),
    "The variables of a container",
  );
}

/** Throws Failure invalid_argument for texts that are too long together, or have null in them. */
export function checkTexts(texts: readonly string[], what: string): void {
  if (texts.some((text) => text.includes("\0"))) refuse(`${what} cannot have a null character in them.`);
  if (texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) > MAX_TEXT_BYTES)
    refuse(`${what} have at most ${MAX_TEXT_BYTES / 1024} KiB in all.`);
}

/** Throws Failure for what cannot be run, or cannot be enforced here. */
export function checkSpec(spec: ContainerSpec): void {
  checkImage(spec.image);
  checkTexts([...spec.entrypoint, ...spec.arguments], "The entrypoint and the arguments of a container");
  checkVariables(spec.environment);
  resourceLimits(spec.resources ?? { cpu: "", memory: "" });
  if (spec.volumes.length > MAX_VOLUMES) refuse(`A container has at most ${MAX_VOLUMES} volumes.`);
  const paths = new Set<string>();
  for (const { path, volume } of spec.volumes) {
    checkName(volume, "volume");
    if (!isMountPath(path))
      refuse(`${JSON.stringify(path.slice(0, 200))} is no absolute path for a volume.`, "For example --volume data:/data.");
    if (paths.has(path)) refuse(`Two volumes are at ${path}.`);
    paths.add(path);
  }
  if (spec.port > 65_535) refuse(`${spec.port} is no port.`);
  if (spec.port === 0 && (spec.grpc || spec.private || spec.authenticated))
    refuse("A route needs the port of the container that answers it.", "Name it with --port.");
  if (!["", "open", "restricted"].includes(spec.kernelPolicy)) refuse("A kernel policy is 'open' or 'restricted'.");
  const cannot = (what: string, hint: string): never => {
    throw new Failure("failed_precondition", what, { hint });
  };
  if ((spec.resources?.gpu ?? "") !== "")
    cannot("This server cannot say whether its engine has accelerators, so it promises none.", "Leave --gpu out.");
  if (spec.routes.length > 0)
    cannot(
      "This server has no network that filters where containers connect to, so --route could not be kept.",
      "Leave --route out: the container connects anywhere; a sandbox connects nowhere.",
    );
  if (spec.ssh) cannot("This server opens no SSH to containers.", "`svc sandbox exec -it` runs a shell in a sandbox.");
}

/** Whether a path can be a volume's: absolute, below the root, in its shortest form. */
function isMountPath(path: string): boolean {
  return /^(?:\/[^/\0:]+)+$/.test(path) && path.length <= 1_000 && !/\/\.\.?(?=\/|$)/.test(path);
}

/** The values of variables. Throws Failure not_found that names all secrets which are not there. */
export function resolveVariables(
  variables: readonly ContainerVariable[],
  given: EnvironmentVariables | undefined,
): Readonly<Record<string, string>> {
  const env = given?.env ?? {};
  const missing = variables.flatMap(({ source }) => (source.case === "secret" && !Object.hasOwn(env, source.value) ? [source.value] : []));
  if (missing.length > 0) {
    const shown = missing.slice(0, MOST_SHOWN).map((name) => `'${name.slice(0, 100)}'`);
    const others = missing.length > MOST_SHOWN ? ` and ${missing.length - MOST_SHOWN} others` : "";
    const what = missing.length === 1 ? "is no secret" : "are no secrets";
    throw new Failure("not_found", `There ${what} ${shown.join(", ")}${others} in this environment.`, {
      hint: "`svc secret list` shows its secrets; `svc secret set` makes one.",
    });
  }
  return Object.fromEntries(
    variables.map(({ name, source }) => [name, source.case === "secret" ? (env[source.value] ?? "") : (source.value ?? "")]),
  );
}
