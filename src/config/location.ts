/**
 * The location of the config file, by `--auth-config`, `$XDG_CONFIG_HOME` and the home folder, in
 * this order.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { GlobalFlags } from "../context/flags.ts";
import type { Surroundings } from "../context/machine.ts";
import { isRegularFile } from "../disk/regular-file.ts";

/** The file that settings are read from, if any, and the file that they are written to. */
export interface ConfigLocation {
  readonly read: string | undefined;
  readonly write: string;
}

/**
 * The location of the config file. Read: `--auth-config`; else below `$XDG_CONFIG_HOME` when that
 * is set: `svc.yml`, `.svc.yml`; else the first of `~/.config/svc.yml`, `~/.svc.yml`,
 * `~/.config.yml`; each also as `.yaml`. Written is the file that was read, except `~/.config.yml`,
 * which other programs may own; else the first candidate.
 */
export function locateConfig(flags: Pick<GlobalFlags, "authConfig">, surroundings: Pick<Surroundings, "env" | "homeDir">): ConfigLocation {
  if (flags.authConfig !== undefined) {
    return { read: existsSync(flags.authConfig) ? flags.authConfig : undefined, write: flags.authConfig };
  }
  const xdg = surroundings.env.XDG_CONFIG_HOME;
  const names = xdg
    ? [join(xdg, "svc"), join(xdg, ".svc")]
    : [join(surroundings.homeDir, ".config", "svc"), join(surroundings.homeDir, ".svc"), join(surroundings.homeDir, ".config")];
  const first = `${names[0]}.yml`;
  for (const [index, name] of names.entries()) {
    for (const extension of [".yml", ".yaml"]) {
      const path = name + extension;
      if (isRegularFile(path)) return { read: path, write: index < 2 ? path : first };
    }
  }
  return { read: undefined, write: first };
}
