/**
 * The reminder of a newer version, shown after a command from cached facts: this file is loaded
 * when the command has ended, and a background process makes the network requests.
 */

import { buildInfo } from "../build-info.ts";
import type { GlobalFlags } from "../context/flags.ts";
import type { Surroundings } from "../context/machine.ts";
import { readUpdateCheck, writeUpdateCheck } from "./release-cache.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Name of the internal command that refreshes the cached facts. */
export const REFRESH_COMMAND = "__refresh-releases";

/** The dependencies of a reminder. */
export interface ReminderHost {
  readonly flags: Pick<GlobalFlags, "authConfig" | "dir">;
  readonly surroundings: Surroundings;
  /** Epoch milliseconds. */
  readonly now: number;
  writeErr(text: string): void;
}

/** Mentions a known newer version once a day, and once a day starts to look for one. */
export async function showReminder(host: ReminderHost): Promise<void> {
  if (buildInfo.publicKey === "") return;
  const { surroundings, now } = host;
  const check = readUpdateCheck(surroundings);
  const older = (then: number) => now - then >= DAY_MS || then > now;
  const isReminderDue = check.latest !== "" && older(check.toldAt) && Bun.semver.order(check.latest, buildInfo.version) > 0;
  const isCheckDue = older(check.checkedAt);
  if (!isReminderDue && !isCheckDue) return;
  const { allowsUpdateCheck } = await import("../config/file.ts");
  if (!(await allowsUpdateCheck(host.flags, surroundings))) return;
  writeUpdateCheck(surroundings, { ...check, toldAt: isReminderDue ? now : check.toldAt, checkedAt: isCheckDue ? now : check.checkedAt });
  if (isReminderDue) {
    const { managerOf } = await import("./managed-install.ts");
    const advice = managerOf(surroundings.execPath)?.advice;
    host.writeErr(advice ? `svc ${check.latest} is available. ${advice}\n` : `svc ${check.latest} is available: run \`svc update\`\n`);
  }
  if (isCheckDue) await startRefresh(host);
}

/** Suppresses the reminder for a day: the user has just dealt with versions. */
export function postponeReminder(surroundings: Surroundings, now: number): void {
  writeUpdateCheck(surroundings, { ...readUpdateCheck(surroundings), toldAt: now });
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
