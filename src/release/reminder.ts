/**
 * Telling the user about a newer version, after a command and from what is known already: the
 * command has ended when this file is loaded, and what has to be asked of a network is asked by
 * another process that nobody waits for.
 */

import { buildInfo } from "../build-info.ts";
import type { GlobalFlags, Surroundings } from "../context/context.ts";
import { readCheckNote, writeCheckNote } from "./release-cache.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Word of the hidden command that refreshes what is known. */
export const REFRESH_COMMAND = "__refresh-releases";

/** What a reminder needs. */
export interface ReminderHost {
  readonly flags: Pick<GlobalFlags, "authConfig" | "dir">;
  readonly surroundings: Surroundings;
  /** Epoch milliseconds. */
  readonly now: number;
  writeErr(text: string): void;
}

/** Says once a day that a newer version is known, and once a day starts to look for one. */
export async function remind(host: ReminderHost): Promise<void> {
  if (buildInfo.publicKey === "") return;
  const { surroundings, now } = host;
  const note = readCheckNote(surroundings);
  const older = (then: number) => now - then >= DAY_MS || then > now;
  const tell = note.latest !== "" && older(note.toldAt) && Bun.semver.order(note.latest, buildInfo.version) > 0;
  const look = older(note.checkedAt);
  if (!tell && !look) return;
  const { allowsUpdateCheck } = await import("../config/file.ts");
  if (!(await allowsUpdateCheck(host.flags, surroundings))) return;
  writeCheckNote(surroundings, { ...note, toldAt: tell ? now : note.toldAt, checkedAt: look ? now : note.checkedAt });
  if (tell) {
    const { managerOf } = await import("./managed-install.ts");
    const advice = managerOf(surroundings.execPath)?.advice;
    host.writeErr(advice ? `svc ${note.latest} is available. ${advice}\n` : `svc ${note.latest} is available: run \`svc update\`\n`);
  }
  if (look) await startRefresh(host);
}

/** Says nothing about newer versions for a day: the user has just been busy with them. */
export function hush(surroundings: Surroundings, now: number): void {
  writeCheckNote(surroundings, { ...readCheckNote(surroundings), toldAt: now });
}

async function startRefresh({ surroundings, flags }: ReminderHost): Promise<void> {
  const { findOrigin } = await import("./origin.ts");
  try {
    if (!findOrigin(undefined, surroundings, flags.dir)) return;
    const child = Bun.spawn([surroundings.execPath, REFRESH_COMMAND], {
      cwd: surroundings.homeDir,
      env: { ...surroundings.env, SVC_NO_UPDATE_CHECK: "1" },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      detached: true,
    });
    child.unref();
  } catch {
    return;
  }
}
