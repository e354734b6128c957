/**
 * Settings that depend on a kind: a table of fields for each kind, and what is wrong with values
 * that are given for them.
 */

import { didYouMean } from "./closest.ts";
import { formProblem, type VariableType } from "./integrations.ts";
import { secretValueProblem } from "./secret-name.ts";
import { bucketProblem } from "./storage-config.ts";

/** The form of a setting's value. `pem` is a private key, `s3` the address of a bucket. */
export type SettingForm = VariableType | "region" | "identifier" | "pem" | "s3";

/** A setting of a kind. */
export interface Setting {
  readonly name: string;
  /** What it is, for people. */
  readonly meaning: string;
  readonly form: SettingForm;
  readonly isRequired: boolean;
  /** Whether its value is sealed, never shown, and typed without echo. */
  readonly isSecret: boolean;
}

/** The settings of each kind, in the order in which they are asked for. */
export type KindSettings = Readonly<Record<string, readonly Setting[]>>;

/** Values by setting. */
export type Settings = Readonly<Record<string, string>>;

/** What is shown in place of a secret. */
export const MASKED = "********";

const MASK_GIVEN = "is the mask that is shown in place of it: leave it out where it stays, or give the secret";
/** Most bytes of all values together. */
const MAX_BYTES = 12 * 1024;

/** A row of a table of settings. */
export function setting(name: string, meaning: string, form: SettingForm, ...traits: ("required" | "secret")[]): Setting {
  return { name, meaning, form, isRequired: traits.includes("required"), isSecret: traits.includes("secret") };
}

/**
 * What is wrong with a kind, as a sentence; undefined when it is one of those known. `noun` says
 * what it is a kind of: `type of connection`.
 */
export function kindProblem(noun: string, kinds: readonly string[], kind: string): string | undefined {
  if (kinds.includes(kind)) return undefined;
  return `'${kind.slice(0, 50)}' is no ${noun}: ${didYouMean(kind, kinds) || `expected one of ${kinds.join(", ")}.`}`;
}

/**
 * What is wrong with the settings, as a sentence that names one and never has a value; undefined
 * when nothing is.
 */
export function settingsProblem(table: readonly Setting[], kind: string, values: Settings): string | undefined {
  const names = table.map(({ name }) => name);
  const unknown = Object.keys(values).find((name) => !names.includes(name));
  if (unknown !== undefined)
    return `'${unknown.slice(0, 50)}' is no setting of ${kind}: ${didYouMean(unknown, names) || `its settings are ${names.join(", ")}.`}`;
  for (const { form, isRequired, isSecret, meaning, name } of table) {
    const value = values[name];
    if (value === undefined) {
      if (isRequired) return `The setting ${name} (${meaning}) is required for ${kind}.`;
      continue;
    }
    const problem = secretValueProblem(value) ?? (isSecret && value === MASKED ? MASK_GIVEN : formIssue(form, value));
    if (problem !== undefined) return `The setting ${name} ${problem}.`;
  }
  const bytes = Object.values(values).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
  return bytes > MAX_BYTES ? `The settings take ${bytes} bytes, and ${MAX_BYTES} are the most.` : undefined;
}

function formIssue(form: SettingForm, value: string): string | undefined {
  switch (form) {
    case "region":
      return /^[a-z0-9-]{1,50}$/.test(value) ? undefined : "is no name of a region, such as eu-central-1";
    case "identifier":
      return /^[A-Za-z0-9._-]{1,200}$/.test(value) ? undefined : "is no identifier of letters, digits, '.', '_' and '-'";
    case "pem":
      return /^-----BEGIN PRIVATE KEY-----\s[\s\S]*-----END PRIVATE KEY-----\s*$/.test(value)
        ? undefined
        : "is no private key in PKCS#8 PEM without a passphrase (-----BEGIN PRIVATE KEY-----)";
    case "s3":
      return bucketProblem("aws", value);
    default:
      return formProblem(form, value);
  }
}
