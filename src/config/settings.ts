/** The settings a command runs with. Every value knows where it came from. */

/** Where a value came from. */
export type Source =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "env"; readonly name: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "service" }
  | { readonly kind: "default" }
  | { readonly kind: "empty" };

/** A value and its source. An absent value has source `empty`. */
export interface Setting {
  readonly value: string | undefined;
  readonly source: Source;
}

/** The settings; `engines` and the service-learned values come only with a token exchange. */
export interface Settings {
  readonly clientId: Setting;
  readonly clientSecret: Setting;
  readonly environment: Setting;
  readonly apiServer: Setting;
  readonly grpcServer: Setting;
  readonly queryServer: Setting;
  readonly accessToken: Setting;
  /** Whether a client ID and secret, or an access token, are there to be used. */
  readonly hasCredentials: boolean;
  /** Config file that a login or an environment switch writes to. */
  readonly configFile: string;
  /** Key in that file: the project root, or `default`. */
  readonly configKey: string;
}
