/**
 * The origin of releases: a host that serves files, or a folder. Its files are signed, so the
 * origin need not be trusted.
 */

import { isAbsolute, resolve } from "node:path";
import { buildInfo } from "../build-info.ts";
import { describeSource } from "../config/resolve.ts";
import type { Source } from "../config/settings.ts";
import type { Surroundings } from "../context/machine.ts";
import { installFolder, readReceipt } from "./install-folder.ts";
import { ReleaseError } from "./release-error.ts";

/** An origin of releases. */
export interface Origin {
  /** Base URL without a slash at the end, or the absolute path of a folder. */
  readonly base: string;
  readonly isUrl: boolean;
  readonly source: Source;
}

/**
 * The configured origin: that of `--from`, SVC_RELEASES, the receipt of the installation, or the
 * build itself. Undefined when there is none.
 */
export function findOrigin(
  from: string | undefined,
  surroundings: Pick<Surroundings, "env" | "homeDir" | "execPath" | "platform">,
  dir: string,
): Origin | undefined {
  if (from) return originOf(from, { kind: "flag", name: "--from" }, dir);
  const { SVC_RELEASES } = surroundings.env;
  if (SVC_RELEASES) return originOf(SVC_RELEASES, { kind: "env", name: "SVC_RELEASES" }, dir);
  const folder = installFolder(surroundings);
  const installed = readReceipt(folder.path).source;
  if (installed) return originOf(installed, { kind: "file", path: folder.receipt }, folder.path);
  return buildInfo.releaseHost ? originOf(buildInfo.releaseHost, { kind: "default" }, dir) : undefined;
}

/** The configured origin. Throws ReleaseError with a hint on naming one when there is none. */
export function requireOrigin(...[from, surroundings, dir]: Parameters<typeof findOrigin>): Origin {
  const origin = findOrigin(from, surroundings, dir);
  if (origin) return origin;
  throw new ReleaseError("nobody has said where releases come from", "release_no_source", {
    hint: "Name a host or a folder: `svc update --from https://releases.example.com`, or set SVC_RELEASES.",
  });
}

/** The origin and the setting that names it, for messages. */
export function describeOrigin({ base, source }: Origin): string {
  return `${base} (from ${describeSource(source)})`;
}

function originOf(text: string, source: Source, dir: string): Origin {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) return { base: isAbsolute(text) ? text : resolve(dir, text), isUrl: false, source };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "file:") return { base: Bun.fileURLToPath(url), isUrl: false, source };
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new ReleaseError(`${text} (from ${describeSource(source)}) is no address of a release host`, "release_no_source", {
      hint: "Write https://<host>/<path>, or the path of a folder.",
    });
  }
  if (url.protocol === "http:" && source.kind === "default") {
    throw new ReleaseError(`this build's release host ${text} is not served over https`, "release_insecure", {
      hint: "Name it with --from if you want to use it.",
    });
  }
  return { base: url.href.replace(/\/+$/, ""), isUrl: true, source };
}
