/**
 * How this machine's pip reaches package indexes, for a pip that runs in a container: variables,
 * and files that they or pip itself name. None of it becomes part of an image.
 */

import { join } from "node:path";
import { readRegularFile } from "../../disk/regular-file.ts";
import { errorText } from "../../domain/error-text.ts";
import { Failure } from "../failure.ts";

/** Settings of pip, with names of files and folders instead of their paths. */
export interface PipSettings {
  readonly env: Readonly<Record<string, string>>;
  /** Variables whose value is the path of a file or folder, with its name. */
  readonly paths: Readonly<Record<string, string>>;
  /** Contents by name, which may have folders. */
  readonly files: Readonly<Record<string, Buffer>>;
}

type Variables = Readonly<Record<string, string | undefined>>;

const MAX_FILE_BYTES = 1024 * 1024;
/** What says where packages come from; anything else of pip's is about this machine. */
const PASSED = new Set(
  [
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_NO_INDEX PIP_FIND_LINKS PIP_PROXY PIP_RETRIES",
    "PIP_TIMEOUT PIP_DEFAULT_TIMEOUT PIP_ONLY_BINARY PIP_NO_BINARY PIP_PREFER_BINARY PIP_PRE",
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy",
  ].flatMap((names) => names.split(" ")),
);
/** uv's names for what pip is told. */
const OF_UV: Readonly<Record<string, readonly string[]>> = {
  PIP_INDEX_URL: ["UV_DEFAULT_INDEX", "UV_INDEX_URL"],
  PIP_EXTRA_INDEX_URL: ["UV_INDEX", "UV_EXTRA_INDEX_URL"],
};

/** The settings. Throws Failure failed_precondition for one that a container could not follow. */
export function pipSettings(env: Variables, home: string): PipSettings {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (PASSED.has(name) && value) passed[name] = value;
  for (const [name, others] of Object.entries(OF_UV)) {
    const value = others.map((other) => env[other]).find(Boolean);
    if (passed[name] === undefined && value) passed[name] = value.replaceAll(/(^|\s)[\w-]+=(?=https?:)/g, "$1");
  }
  const folder = (passed.PIP_FIND_LINKS ?? "").split(/\s+/).find((one) => one !== "" && !/^https?:/.test(one));
  if (folder !== undefined)
    throw new Failure("failed_precondition", `PIP_FIND_LINKS of this server names ${folder}, which no build of an image can see.`, {
      hint: "Name an address there, or set PIP_INDEX_URL to an index of your own.",
    });
  const files: Record<string, Buffer> = {};
  const paths: Record<string, string> = {};
  /** Gives the first of some files a name, and a variable that of the file or of its folder. */
  const add = (variable: string, name: string, candidates: readonly (string | undefined)[], value = name): void => {
    for (const path of candidates) {
      const content = path === undefined || path === "" ? undefined : contentOf(path);
      if (content === undefined) continue;
      files[name] = content;
      paths[variable] = value;
      return;
    }
  };
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  if (env.PIP_CONFIG_FILE === "/dev/null") passed.PIP_CONFIG_FILE = "/dev/null";
  else {
    add("PIP_CONFIG_FILE", "pip.conf", [env.PIP_CONFIG_FILE]);
    add("XDG_CONFIG_HOME", "user/pip/pip.conf", [join(config, "pip/pip.conf"), join(home, ".pip/pip.conf")], "user");
    add("XDG_CONFIG_DIRS", "machine/pip/pip.conf", ["/etc/pip.conf"], "machine");
  }
  add("PIP_CERT", "certificates.pem", [env.PIP_CERT, env.REQUESTS_CA_BUNDLE, env.SSL_CERT_FILE]);
  add("PIP_CLIENT_CERT", "client.pem", [env.PIP_CLIENT_CERT]);
  add("NETRC", "netrc", [env.NETRC, join(home, ".netrc")]);
  return { env: passed, paths, files };
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readRegularFile(path, { maxBytes: MAX_FILE_BYTES });
  } catch (error) {
    throw new Failure("failed_precondition", `A setting of pip cannot be given to the build of an image: ${errorText(error)}`);
  }
}

/** A text without what its settings keep secret: the names and passwords of addresses. */
export function withoutCredentials(text: string, { env }: PipSettings): string {
  let plain = text;
  for (const value of Object.values(env))
    for (const [, secret = ""] of value.matchAll(/\/\/([^/@\s]+)@/g)) plain = plain.replaceAll(secret, "****");
  return plain;
}
