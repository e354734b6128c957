/** Which requests are answered while the gateway is suspended. */

import { Failure } from "../../failure.ts";

/**
 * Paths that stay open: health, the login that resuming needs, and resuming itself, which checks
 * the caller's permission as always.
 */
const OPEN: readonly RegExp[] = [
  /^\/health(?:\/ready)?$/,
  /^\/svc\.v1\.HealthService\/\w+$/,
  /^\/v1\/oauth\/token$/,
  /^\/svc\.v1\.AuthService\/(?:CreateLoginSession|GetLoginSession|CreateEntry|RedeemEntry|WhoAmI)$/,
  /^\/svc\.v1\.InfraService\/ResumeComponent$/,
  /^\/(?:enter$|cli\/login_[0-9a-f]+$|login\/oidc(?:\/callback)?$|assets\/)/,
];

/** Seconds after which a refused client may ask again: too long for commands to wait. */
export const SUSPENDED_RETRY_S = 60;

/** Whether a path is answered while the gateway is suspended. */
export function isOpenWhileSuspended(path: string): boolean {
  return OPEN.some((open) => open.test(path));
}

/** The refusal of everything else. */
export function gatewaySuspended(): Failure {
  return new Failure(
    "unavailable",
    "The gateway is suspended: nothing is answered until an administrator runs `svc infra resume gateway`.",
  );
}
