/** The global flags of a command. */

/** Where colours are used: on terminals, everywhere, or nowhere. */
export type ColorChoice = "auto" | "always" | "never";

/**
 * What `--json=FIELDS`, `--jq` and `--template` make of a command's JSON; the last two exclude each
 * other.
 */
export interface JsonShape {
  readonly fields?: readonly string[];
  readonly jq?: string;
  /** A template, or the path of its file behind `@`. */
  readonly template?: string;
}

/** Global flags after parsing. */
export interface GlobalFlags {
  readonly branch?: string | true;
  readonly environment?: string;
  readonly apiHost?: string;
  readonly grpcHost?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly accessToken?: string;
  readonly profile?: string;
  readonly authConfig?: string;
  readonly json: boolean;
  /** What of the JSON is printed; absent means all, as a document. */
  readonly shape?: JsonShape;
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
