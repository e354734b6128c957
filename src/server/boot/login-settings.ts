/**
 * The section `login` of the server's configuration file: the identity provider that persons log in
 * at, and the roles of their groups.
 *
 *     login:
 *       oidc:
 *         issuer: https://login.example.com
 *         client_id: svc
 *         client_secret_file: /etc/svc/client-secret
 *         roles:
 *           platform: admin
 *           data-science: {role: developer, environments: [staging]}
 *         everyone: viewer
 */

import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { readRegularFile } from "../../disk/regular-file.ts";
import { didYouMean } from "../../domain/closest.ts";
import { DAY_MS } from "../../domain/day.ts";
import { DURATION_GRAMMAR, parseDuration } from "../../domain/duration.ts";
import { errorText } from "../../domain/error-text.ts";
import { isLoopbackHost } from "../../domain/ip-address.ts";
import { isRole, ROLE_NAMES } from "../../domain/permissions.ts";
import type { OidcSettings, RoleRule } from "../access/oidc/settings.ts";
import { invalidSetting, type Mapping, mappingOf, refuseOthers, type ServerFile, textOf } from "./server-file.ts";

/** Environment variable with the client secret, in place of a file. */
export const CLIENT_SECRET_VARIABLE = "SVC_OIDC_CLIENT_SECRET";

const KEYS = ["issuer", "client_id", "client_secret_file", "scopes", "groups_claim", "roles", "everyone", "session_lifetime"];
const ROLE_KEYS = ["role", "environments"];
const DEFAULT_SCOPES = ["openid", "profile", "email"];
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const MAX_SECRET_BYTES = 4096;
const DEFAULT_LIFETIME_MS = 12 * 3_600_000;
const LEAST_LIFETIME_MS = 60_000;
const MOST_LIFETIME_MS = 30 * DAY_MS;

/**
 * Reads the section; undefined when it names no provider.
 * @throws StartError "setting_invalid" for anything that is not understood, and for a secret that
 * cannot be read
 */
export function readLoginSettings(
  { path: file, login }: ServerFile,
  env: Readonly<Record<string, string | undefined>>,
): OidcSettings | undefined {
  refuseOthers(login, ["oidc"], file, "login");
  if (login.oidc === undefined) return undefined;
  const oidc = mappingOf(login.oidc, file, "login.oidc");
  refuseOthers(oidc, KEYS, file, "login.oidc");
  const roles = Object.entries(mappingOf(oidc.roles, file, "login.oidc.roles")).map(([group, value]) =>
    ruleOf(group, value, file, `login.oidc.roles.${group}`),
  );
  if (oidc.everyone !== undefined) roles.push(ruleOf(undefined, oidc.everyone, file, "login.oidc.everyone"));
  if (roles.length === 0)
    throw invalidSetting(
      `${file}: login.oidc gives nobody a role.`,
      "Name the roles of groups in login.oidc.roles, or one for all in login.oidc.everyone.",
    );
  return {
    issuer: issuerOf(oidc.issuer, file),
    clientId: textOf(oidc.client_id, file, "login.oidc.client_id"),
    clientSecret: secretOf(oidc.client_secret_file, file, env[CLIENT_SECRET_VARIABLE]),
    scopes: oidc.scopes === undefined ? DEFAULT_SCOPES : scopesOf(oidc.scopes, file),
    groupsClaim: oidc.groups_claim === undefined ? "groups" : textOf(oidc.groups_claim, file, "login.oidc.groups_claim"),
    roles,
    lifetimeMs: oidc.session_lifetime === undefined ? DEFAULT_LIFETIME_MS : lifetimeOf(oidc.session_lifetime, file),
  };
}

function issuerOf(value: unknown, file: string): string {
  const text = textOf(value, file, "login.oidc.issuer");
  const url = URL.parse(text);
  const isEncrypted = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackHost(url.hostname));
  if (url && isEncrypted && url.username === "" && url.password === "" && !/[?#]/.test(text)) return text;
  throw invalidSetting(
    `${file}: login.oidc.issuer is no address of a provider.`,
    "It begins with https:// (http:// for one on this machine alone) and has no user, query or fragment.",
  );
}

function secretOf(path: unknown, file: string, given: string | undefined): string | undefined {
  if (path === undefined) return given || undefined;
  if (given)
    throw invalidSetting(
      `Both login.oidc.client_secret_file of ${file} and ${CLIENT_SECRET_VARIABLE} are set.`,
      "Give the client secret by one of them.",
    );
  const secretFile = textOf(path, file, "login.oidc.client_secret_file");
  if (!isAbsolute(secretFile)) throw invalidSetting(`${file}: login.oidc.client_secret_file is not an absolute path.`);
  const refuse = (problem: string, hint?: string) =>
    invalidSetting(`The file ${secretFile}, which login.oidc.client_secret_file of ${file} names, ${problem}.`, hint);
  const secret = readSecret(secretFile, refuse)?.trim();
  if (secret === undefined) throw refuse("does not exist");
  if (secret === "" || /\s/.test(secret)) throw refuse("does not have one secret alone");
  return secret;
}

function readSecret(path: string, refuse: (problem: string, hint?: string) => Error): string | undefined {
  try {
    const text = readRegularFile(path, { maxBytes: MAX_SECRET_BYTES })?.toString("utf8");
    if (text === undefined || process.platform === "win32" || (statSync(path).mode & 0o007) === 0) return text;
  } catch (error) {
    throw refuse(`cannot be read: ${errorText(error)}`);
  }
  throw refuse("can be read by everybody", `Run \`chmod o= ${path}\`, or mount the secret with the mode 0440.`);
}

function scopesOf(value: unknown, file: string): string[] {
  const scopes = textsOf(value, file, "login.oidc.scopes");
  if (!scopes.every((scope) => SCOPE.test(scope))) throw invalidSetting(`${file}: login.oidc.scopes has a scope that is none.`);
  if (!scopes.includes("openid")) throw invalidSetting(`${file}: login.oidc.scopes lacks 'openid', without which nobody is named.`);
  return scopes;
}

function lifetimeOf(value: unknown, file: string): number {
  const lifetimeMs = parseDuration(String(value));
  if (lifetimeMs !== undefined && lifetimeMs >= LEAST_LIFETIME_MS && lifetimeMs <= MOST_LIFETIME_MS) return lifetimeMs;
  throw invalidSetting(`${file}: login.oidc.session_lifetime is not ${DURATION_GRAMMAR}, of a minute to 30 days.`);
}

/** A rule from `admin`, or from `{role: admin, environments: [staging]}`. */
function ruleOf(group: string | undefined, value: unknown, file: string, what: string): RoleRule {
  const entry: Mapping = typeof value === "string" ? { role: value } : mappingOf(value, file, what);
  refuseOthers(entry, ROLE_KEYS, file, what);
  const role = textOf(entry.role, file, `${what}, the role,`);
  if (!isRole(role))
    throw invalidSetting(
      `${file}: ${what} names the role '${role}', which there is not.`,
      didYouMean(role, ROLE_NAMES) || `There is: ${ROLE_NAMES.join(", ")}.`,
    );
  const environments = entry.environments === undefined ? undefined : textsOf(entry.environments, file, `${what}.environments`);
  return { group, role, environments };
}

function textsOf(value: unknown, file: string, what: string): string[] {
  if (!Array.isArray(value) || value.length === 0) throw invalidSetting(`${file}: ${what} is not a list of names.`);
  return value.map((entry) => textOf(entry, file, what));
}
