/**
 * Installations that a package manager keeps current: an update would be undone, or would break
 * them.
 */

import { existsSync } from "node:fs";
import { ReleaseError } from "./release-error.ts";

/** The manager of an installation, and the command that updates it. */
export interface Manager {
  readonly name: string;
  /** The advice, as a sentence. */
  readonly advice: string;
}

const CONTAINER_MARKS = ["/.dockerenv", "/run/.containerenv"];
const IMAGE_PATHS = ["/svc", "/bin/svc", "/usr/bin/svc", "/usr/local/bin/svc"];

/**
 * The manager of the installation that contains the executable; undefined when there is none.
 * @param running the executable, with links followed
 */
export function managerOf(running: string, exists: (path: string) => boolean = existsSync): Manager | undefined {
  const path = running.replaceAll("\\", "/").toLowerCase();
  if (/\/cellar\/svc\//.test(path)) return { name: "Homebrew", advice: "Run `brew upgrade svc`." };
  if (/\/scoop\/apps\/svc\//.test(path)) return { name: "Scoop", advice: "Run `scoop update svc`." };
  if (/\/winget\/packages\//.test(path)) return { name: "winget", advice: "Run `winget upgrade svc.svc`." };
  if (/^\/nix\/store\//.test(path)) return { name: "Nix", advice: "Update it where your Nix configuration names it." };
  if (IMAGE_PATHS.includes(running) && CONTAINER_MARKS.some(exists))
    return { name: "the container's image", advice: "Pull a newer image, or build yours on a newer version." };
  return undefined;
}

/** Throws managed_install when a package manager keeps the installation current. */
export function refuseManaged(running: string): void {
  const manager = managerOf(running);
  if (!manager) return;
  throw new ReleaseError(`this svc belongs to ${manager.name}, which keeps it current: ${running}`, "managed_install", {
    hint: manager.advice,
  });
}
