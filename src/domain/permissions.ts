/**
 * Permissions by name, as clients and tokens hold them, and the roles that bundle them. The
 * permission that a method needs is an option of the method in the contract.
 */

import type { Permission } from "../../gen/svc/v1/options_pb.ts";

/** A permission that a client can be given. */
export interface PermissionRow {
  readonly name: string;
  /** Name of the option of methods that need it. */
  readonly option: keyof typeof Permission;
  /** What it allows, for people. */
  readonly meaning: string;
  /**
   * Whether what it allows concerns more than one environment: credentials that are limited to some
   * environments cannot use it.
   */
  readonly isTeamWide?: boolean;
}

/** Every permission that a client can be given, from the least to the greatest. */
export const PERMISSIONS = [
  { name: "read", option: "READ", meaning: "see deployments, the graph, sources and settings, without secrets" },
  { name: "query.online", option: "QUERY_ONLINE", meaning: "run online queries" },
  { name: "query.offline", option: "QUERY_OFFLINE", meaning: "read stored values: offline queries, SQL and datasets" },
  { name: "data.write", option: "DATA_WRITE", meaning: "upload values of features, and datasets" },
  { name: "telemetry.write", option: "TELEMETRY_WRITE", meaning: "send spans, log lines and metrics of applications" },
  { name: "deploy", option: "DEPLOY", meaning: "deploy code, to an environment or a branch" },
  { name: "audit.read", option: "AUDIT_READ", meaning: "see who called what, and usage", isTeamWide: true },
  { name: "secrets.read", option: "SECRETS_READ", meaning: "see the values of secrets" },
  { name: "secrets.write", option: "SECRETS_WRITE", meaning: "set and delete secrets and integrations" },
  { name: "traffic.write", option: "TRAFFIC_WRITE", meaning: "route queries among deployments" },
  { name: "settings.write", option: "SETTINGS_WRITE", meaning: "change an environment's configuration, webhooks and stores" },
  { name: "infra.write", option: "INFRA_WRITE", meaning: "change, suspend and resume the server's components", isTeamWide: true },
  {
    name: "tokens.write",
    option: "TOKENS_WRITE",
    meaning: "make and revoke service tokens, with no more than one's own permissions",
    isTeamWide: true,
  },
  { name: "shell", option: "SHELL", meaning: "open a shell in a deployment's environment, without secrets unless those may be seen" },
  { name: "containers.write", option: "CONTAINERS_WRITE", meaning: "run containers, sandboxes and scaling groups, and change volumes" },
  { name: "approve", option: "APPROVE", meaning: "approve deployments to protected environments" },
  { name: "admin", option: "ADMIN", meaning: "everything, also what no other permission allows", isTeamWide: true },
] as const satisfies readonly PermissionRow[];

/** The name of a permission that a client can be given. */
export type PermissionName = (typeof PERMISSIONS)[number]["name"];

/** Names of all permissions. */
export const PERMISSION_NAMES: readonly PermissionName[] = PERMISSIONS.map(({ name }) => name);

/**
 * The permissions of an owner: `admin` allows everything, and the others are those that programs
 * ask a token to be restricted to.
 */
export const FULL_ACCESS: readonly PermissionName[] = ["read", "query.online", "deploy", "admin"];

/** Whether a text names a permission. */
export function isPermission(name: string): name is PermissionName {
  return PERMISSION_NAMES.includes(name as PermissionName);
}

/** A bundle of permissions for one kind of work. */
export interface RoleRow {
  readonly name: string;
  readonly permissions: readonly PermissionName[];
  /** Who it is for. */
  readonly meaning: string;
}

/** The roles, each with all that the one before may do. */
export const ROLES = [
  { name: "viewer", permissions: ["read"], meaning: "who looks, and changes nothing" },
  {
    name: "developer",
    permissions: ["read", "query.online", "query.offline", "data.write", "telemetry.write", "deploy"],
    meaning: "who builds features: deploys and queries",
  },
  {
    name: "operator",
    permissions: [
      "read",
      "query.online",
      "query.offline",
      "data.write",
      "telemetry.write",
      "deploy",
      "audit.read",
      "secrets.write",
      "traffic.write",
      "settings.write",
      "infra.write",
      "containers.write",
      "approve",
    ],
    meaning: "who runs the service: settings, secrets, traffic, components, containers",
  },
  { name: "admin", permissions: ["admin"], meaning: "who may do everything, also see secrets and give access to others" },
] as const satisfies readonly RoleRow[];

/** The name of a role. */
export type RoleName = (typeof ROLES)[number]["name"];

/** Names of all roles. */
export const ROLE_NAMES: readonly RoleName[] = ROLES.map(({ name }) => name);

/** Whether a text names a role. */
export function isRole(name: string): name is RoleName {
  return ROLES.some((role) => role.name === name);
}

/**
 * The permissions of a role, for credentials that are limited to some environments without those
 * that they could not use.
 */
export function permissionsOfRole(wanted: RoleName, isLimited: boolean): PermissionName[] {
  const role: RoleRow | undefined = ROLES.find(({ name }) => name === wanted);
  return (role?.permissions ?? []).filter((name) => !isLimited || name === "admin" || !isTeamWide(name));
}

/** Whether a permission concerns more than one environment, see `PermissionRow`. */
export function isTeamWide(wanted: string): boolean {
  return PERMISSIONS.some(({ name, isTeamWide: is = false }: PermissionRow) => name === wanted && is);
}

/**
 * What holders of both lists of permissions may do: `admin` and `read` have `read` in common.
 */
export function commonPermissions(some: readonly string[], others: readonly string[]): PermissionName[] {
  const held = PERMISSION_NAMES.filter((name) => some.includes(name) || others.includes(name));
  return held.filter((name) => allows(some, name) && allows(others, name));
}

/** Whether a holder of these permissions has all of the others too. */
export function allowsAll(permissions: readonly string[], others: readonly string[]): boolean {
  return others.every((name) => isPermission(name) && allows(permissions, name));
}

/** Whether a holder of these permissions may do what needs `needed`; `admin` allows everything. */
export function allows(permissions: readonly string[], needed: PermissionName): boolean {
  return permissions.includes(needed) || permissions.includes("admin");
}

/** The permissions that remain for read-only access. */
export function onlyReading(permissions: readonly string[]): string[] {
  return allows(permissions, "read") ? ["read" satisfies PermissionName] : [];
}

/** Whether permissions allow nothing but reading. */
export function mayOnlyRead(permissions: readonly string[]): boolean {
  return permissions.every((name) => name === "read");
}
