/** The settings of a command. Every value has its source. */

import type { CliError } from "../errors/cli-error.ts";

/** The source of a value. */
export type Source =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "env"; readonly name: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "keychain" }
  | { readonly kind: "service" }
  | { readonly kind: "default" }
  | { readonly kind: "empty" };

/** A value and its source. An absent value has source `empty`. */
export interface Setting {
  readonly value: string | undefined;
  readonly source: Source;
}

/** A profile that `--profile` or SVC_PROFILE names: the entry of the config file with that key. */
export interface NamedProfile {
  readonly name: string;
  readonly source: Source;
  /** The error of who needs it, where the config file does not have it. `svc login` makes one. */
  readonly missing?: CliError;
}

/** The settings; `engines` and values from the service are set only after a token exchange. */
export interface Settings {
  readonly clientId: Setting;
  readonly clientSecret: Setting;
  readonly environment: Setting;
  readonly apiServer: Setting;
  readonly grpcServer: Setting;
  readonly queryServer: Setting;
  readonly accessToken: Setting;
  /** Whether a client ID and secret, or an access token, are available. */
  readonly hasCredentials: boolean;
  /** The profile that was named; absent means that of the project or `default`. */
  readonly profile?: NamedProfile;
  /** Config file that a login or an environment switch writes. */
  readonly configFile: string;
  /** Key in that file: the profile, the project root, or `default`. */
  readonly configKey: string;
}
