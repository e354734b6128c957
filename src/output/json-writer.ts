/**
 * A command's JSON as text: whole, the fields of `--json=id,name`, or what `--jq` or `--template`
 * makes of it.
 */

import type { JsonShape } from "../context/flags.ts";
import { jsonDocument, jsonLine } from "./json.ts";

/** Texts of JSON values, each with the line's end that it needs. */
export interface JsonWriter {
  /** The text of a command's whole data. */
  document(value: unknown): Promise<string>;
  /** The text of one item of a stream. */
  line(value: unknown): Promise<string>;
}

/** What a writer uses of the machine. */
export interface JsonWriterOptions {
  /** Runs work during which a signal ends the process. */
  readonly interruptible: <T>(work: () => Promise<T>) => Promise<T>;
  /** The text of a template's file. */
  readonly readTemplate: (path: string) => Promise<string>;
  /** Text as a terminal may show it. */
  readonly shown: (text: string) => string;
}

/** Documents indented, and items on a line each. */
export const plainJson: JsonWriter = {
  document: async (value) => `${jsonDocument(value)}\n`,
  line: async (value) => `${jsonLine(value)}\n`,
};

/**
 * The writer of a shape. Rejects with a UsageError for a filter or template that is none, before
 * anything is written.
 */
export async function jsonWriter(
  shape: JsonShape | undefined,
  { interruptible, readTemplate, shown }: JsonWriterOptions,
): Promise<JsonWriter> {
  if (shape === undefined) return plainJson;
  const { fields, jq, template } = shape;
  const select = fields && (await import("./selection.ts")).selectFields;
  /** The value as a reader of its JSON has it, with the fields alone. */
  const chosen = (value: unknown) => {
    const plain: unknown = JSON.parse(jsonLine(value));
    return select && fields ? select(plain, fields) : plain;
  };
  if (jq !== undefined) {
    const filter = await (await import("./jq.ts")).jqFilter(jq, interruptible);
    const write = async (value: unknown) => endLine(shown(await filter(jsonLine(chosen(value)))));
    return { document: write, line: write };
  }
  if (template !== undefined) {
    const { renderTemplate, unescaped } = await import("./template.ts");
    const text = template.startsWith("@") ? await readTemplate(template.slice(1)) : unescaped(template);
    const rendered = renderTemplate(text);
    const write = async (value: unknown) => endLine(shown(rendered(chosen(value))));
    return { document: write, line: write };
  }
  return { document: async (value) => plainJson.document(chosen(value)), line: async (value) => plainJson.line(chosen(value)) };
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
