/** Tools that a program calls over the Model Context Protocol. */

import type { Fields } from "./json-rpc.ts";
import type { Arguments, Parameters } from "./parameter.ts";

/** A failure of a tool in words, for the model that called it: what happened, and what to do. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  constructor(
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

/** A tool. What it answers is JSON, or a text. */
export interface Tool<P extends Parameters = Parameters> {
  /** In snake_case, starting with a verb. */
  readonly name: string;
  readonly title: string;
  /** For the model: what it answers, and when to call it. */
  readonly description: string;
  readonly parameters: P;
  /** Whether it changes something; such a tool is offered only where that was allowed. */
  readonly writes?: boolean;
  readonly call: (args: Arguments<P>, signal: AbortSignal, report: Report) => Promise<Fields | string>;
}

/** Tells the caller of a tool what it is doing, in words. */
export type Report = (message: string) => void;

/** A tool in a list of them, whatever the type of its arguments. */
// biome-ignore lint/suspicious/noExplicitAny: each tool is called only with its own arguments
export type AnyTool = Tool<any>;

/** A tool as declared; the call only gives the types. */
export function defineTool<const P extends Parameters>(tool: Tool<P>): Tool<P> {
  return tool;
}

/** Most characters of an answer: what a model can read with room for the rest of its work. */
export const MAX_ANSWER = 40_000;

/**
 * An answer as text of a bounded length: of JSON, the longest list is shortened until it fits, and
 * `left_off` says by how many. Characters that nobody sees are escaped, so that no text from data
 * hides in it.
 */
export function answerText(answer: Fields | string): string {
  if (typeof answer === "string") return clipped(visible(answer));
  let shown: Record<string, unknown> = { ...answer };
  let leftOff = 0;
  for (;;) {
    const text = visible(JSON.stringify(leftOff > 0 ? { ...shown, left_off: leftOff } : shown, plainNumbers));
    if (text.length <= MAX_ANSWER) return text;
    const [name, list] = longestList(shown);
    if (list.length < 2) return clipped(text);
    const kept = Math.max(1, Math.min(list.length - 1, Math.floor((list.length * MAX_ANSWER) / text.length)));
    leftOff += list.length - kept;
    shown = { ...shown, [name]: list.slice(0, kept) };
  }
}

function longestList(fields: Fields): readonly [string, readonly unknown[]] {
  let longest: readonly [string, readonly unknown[]] = ["", []];
  for (const [name, value] of Object.entries(fields)) if (Array.isArray(value) && value.length > longest[1].length) longest = [name, value];
  return longest;
}

function clipped(text: string): string {
  return text.length <= MAX_ANSWER ? text : `${text.slice(0, MAX_ANSWER)}… (${text.length - MAX_ANSWER} characters are left off)`;
}

/** Whole numbers beyond 2^53 are texts, as in all JSON of the platform. */
function plainNumbers(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)) : value;
}

/** Controls but for line breaks and tabs, marks of direction, and characters without width. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

function visible(text: string): string {
  return text.replace(UNSEEN, (character) =>
    [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}
