/** Messages that `svc topic push` makes of templates. */

import { UsageError } from "../errors/cli-error.ts";
import { caretText } from "../output/caret.ts";
import { parseTemplate, type Template, TemplateError, type TemplateInputs } from "./template.ts";

/** The templates of a message. */
export interface MessageTemplate {
  readonly format: "JSON" | "binary";
  readonly value: Template;
  readonly key: Template | undefined;
}

/** A message as it is pushed. */
export interface Payload {
  readonly value: Uint8Array<ArrayBuffer>;
  readonly key?: Uint8Array<ArrayBuffer>;
}

/** Most characters of a value in an error. */
const SHOWN = 200;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** Reads the template of a flag. Throws UsageError, whose hint points at what is wrong. */
export function templateOf(flag: string, text: string): Template {
  try {
    return parseTemplate(text);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { offset, length, message } = error;
    const column = [...text.slice(0, offset)].length + 1;
    throw new UsageError(`${flag}, column ${column}: ${message}`, {
      hint: caretText(text, offset, offset + length).replaceAll(/^/gm, "  "),
    });
  }
}

/** Expands the templates. Throws UsageError when the value is not of its format then. */
export function payloadOf({ format, value, key }: MessageTemplate, inputs: TemplateInputs): Payload {
  const text = value(inputs);
  return {
    value: format === "JSON" ? jsonBytes(text) : base64Bytes(text),
    ...(key && { key: new TextEncoder().encode(key(inputs)) }),
  };
}

function jsonBytes(text: string): Uint8Array<ArrayBuffer> {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--value is no JSON: ${(error as Error).message}`, {
      hint: `It came to ${text.slice(0, SHOWN)}${text.length > SHOWN ? "..." : ""}\nTexts need double quotes, as in '{"id": "randstr(8)"}'; --format binary takes bytes as base64.`,
    });
  }
  return new TextEncoder().encode(text);
}

function base64Bytes(text: string): Uint8Array<ArrayBuffer> {
  const packed = text.replaceAll(/\s/g, "");
  if (!BASE64.test(packed)) throw new UsageError("--value is no base64, which --format binary takes", { hint: "`base64 FILE` makes it." });
  return new Uint8Array(Buffer.from(packed, "base64"));
}
