/** What the operator says of the identity provider. */

import type { RoleName } from "../../../domain/permissions.ts";

/** An identity provider, and who of its persons may do what. */
export interface OidcSettings {
  /** The issuer's identifier: https, or http on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined = this server is a public client. */
  readonly clientSecret: string | undefined;
  /** The scopes that are asked for; `openid` is among them. */
  readonly scopes: readonly string[];
  /** Name of the claim with a person's groups. */
  readonly groupsClaim: string;
  readonly roles: readonly RoleRule[];
  /** Milliseconds after which a person has to log in again. */
  readonly lifetimeMs: number;
}

/** A role that a group of persons has. */
export interface RoleRule {
  /** Undefined = everybody whom the provider names. */
  readonly group: string | undefined;
  readonly role: RoleName;
  /** Names of the environments that it is limited to; undefined = all. */
  readonly environments: readonly string[] | undefined;
}
