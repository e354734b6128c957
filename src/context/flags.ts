/** The global flags of a command. */

/** Where colours are used: on terminals, everywhere, or nowhere. */
export type ColorChoice = "auto" | "always" | "never";

/** Global flags after parsing. */
export interface GlobalFlags {
  readonly branch?: string | true;
  readonly environment?: string;
  readonly apiHost?: string;
  readonly grpcHost?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly accessToken?: string;
  readonly authConfig?: string;
  readonly json: boolean;
  readonly spinners: boolean;
  readonly verbose: boolean;
  readonly debug: boolean;
  /**
   * Whether svc may look for a newer version and mention it: not with --json, in CI, or when turned
   * off.
   */
  readonly updateCheck: boolean;
  /** Absolute directory from which the project is looked for. */
  readonly dir: string;
  readonly color: ColorChoice;
  /** Whether long output may be shown in a pager. */
  readonly pager: boolean;
}
