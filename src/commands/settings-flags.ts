/**
 * Resources with settings that depend on a kind: read from a file, or asked for on a terminal,
 * secrets without echo.
 */

import type { Context } from "../context/context.ts";
import type { KindSettings, Setting } from "../domain/kind-settings.ts";
import { UsageError } from "../errors/cli-error.ts";
import { checkKeys, documentError, type GivenDocument, readDocument, textAt } from "./document-flags.ts";

/** A resource that was given; what was not is empty. */
export interface GivenResource {
  readonly name: string;
  readonly kind: string;
  readonly settings: Record<string, string>;
  /** Settings that were given as null. */
  readonly removedSettings: string[];
}

/** Kinds of a resource, with the key that has the kind in documents: `kind` or `type`. */
export interface ResourceKinds {
  readonly key: "kind" | "type";
  readonly noun: string;
  readonly table: KindSettings;
}

/** Reads a resource from a file or stdin. Throws a CliError that names the place and the key. */
export async function readResource(context: Context, file: string, { key }: ResourceKinds): Promise<GivenResource> {
  const document = await readDocument(context, file);
  checkKeys(document, ["name", key, "settings"]);
  const given = document.value.settings ?? {};
  if (typeof given !== "object" || Array.isArray(given)) throw documentError(document, "has settings that are no names with values");
  const entries = Object.entries(given as Record<string, unknown>);
  return {
    name: textAt(document, "name"),
    kind: textAt(document, key),
    settings: Object.fromEntries(
      entries.filter(([, value]) => value !== null).map(([name, value]) => [name, valueText(document, name, value)]),
    ),
    removedSettings: entries.filter(([, value]) => value === null).map(([name]) => name),
  };
}

/** Asks for a resource on a terminal; without one throws a UsageError that names --file. */
export async function askResource(context: Context, { noun, table }: ResourceKinds): Promise<GivenResource> {
  const { prompt } = context;
  const kind = await prompt.pick(
    `Which kind of ${noun}?`,
    Object.keys(table).map((name) => ({ label: name, value: name })),
    "--file",
  );
  const name = (await prompt.text(`Name of the ${noun}`, "--file")).trim();
  const settings: Record<string, string> = {};
  for (const one of table[kind] ?? []) {
    const value = await ask(context, one);
    if (value !== "") settings[one.name] = value;
  }
  return { name, kind, settings, removedSettings: [] };
}

/** The value that is given for a setting; empty = none. */
async function ask({ machine, prompt }: Context, { form, isRequired, isSecret, meaning, name }: Setting): Promise<string> {
  const optional = isRequired ? "" : " (optional)";
  if (form === "pem" || form === "service-account") {
    const file = (await prompt.text(`${name}: file with the ${meaning}${optional}`, "--file")).trim();
    if (file === "") return "";
    const text = await machine.readText(file);
    if (text === undefined) throw new UsageError(`there is no file ${file}`);
    return text;
  }
  if (!isSecret) return (await prompt.text(`${name}: ${meaning}${optional}`, "--file")).trim();
  try {
    return await prompt.secret(`${name}: ${meaning}${optional}`);
  } catch (error) {
    if (isRequired || !(error instanceof UsageError)) throw error;
    return "";
  }
}

/** Numbers and booleans as text, and the key of a service account, which is an object, as JSON. */
function valueText(document: GivenDocument, name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return JSON.stringify(value);
  throw documentError(document, `has a value of ${name} that is no text`);
}
