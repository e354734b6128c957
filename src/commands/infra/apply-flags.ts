/** Applying a spec to a component: the changes are shown, and made when that is confirmed. */

import type { Component, SpecChange } from "../../../gen/svc/v1/infra_pb.ts";
import type { Context } from "../../context/context.ts";
import { changesText, type JsonChange } from "../../domain/json-diff.ts";
import { asJson, type Json } from "../../domain/json-value.ts";
import { escapeUnseen } from "../../domain/visible.ts";
import { CliError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { documentFlags, type GivenDocument } from "../document-flags.ts";

/** `--file`, `--yes`. */
export const applyFlags = { ...documentFlags("the component's spec"), ...confirmFlags };

/** What applying did. */
export interface Applied {
  /** Whether they were shown already, for the question. */
  readonly isShown: boolean;
  readonly changes: readonly (JsonChange & { readonly applied: boolean })[];
}

/**
 * Shows what a spec would change, on stderr, and applies it after a confirmation. Rejects with
 * AbortedError when that is refused, and with CliError when the spec is wrong or somebody else
 * changed the component meanwhile.
 */
export async function applySpec(
  context: Pick<Context, "api" | "progress" | "prompt">,
  component: Component,
  { place, value }: GivenDocument,
  {
    force,
    shown = specDiff,
    warning,
  }: { readonly force: boolean; readonly shown?: (changes: Applied["changes"]) => string; readonly warning?: string },
): Promise<Applied> {
  const infra = await context.api.infra();
  const spec = specText(place, value);
  const compared = await infra.compareComponent({ component, spec });
  const changes = compared.changes.map(changeOf);
  if (changes.length === 0) return { changes, isShown: false };
  if (!force) context.progress.note(escapeUnseen(shown(changes)));
  if (warning !== undefined) context.progress.warn(warning);
  await confirm(context, { force }, "Apply changes?");
  const { changes: made } = await infra.applyComponent({ component, spec, etag: compared.etag });
  return { changes: made.map(changeOf), isShown: !force };
}

/** `Changes to spec:`, and the changes. */
export function specDiff(changes: Applied["changes"]): string {
  return `Changes to spec:\n${changesText(changes)}`;
}

/** The changes that were made, and for each whether it acts. */
export function appliedView(shown: (changes: Applied["changes"]) => string = specDiff) {
  return textView(
    ({ changes, isShown }: Applied) => {
      if (changes.length === 0) return "No changes: the spec is as given already.";
      const outcomes = changes.map(({ applied, path }) => `${path.join(".")}: ${applied ? "applied" : "recorded, not applied"}`);
      return escapeUnseen([...(isShown ? [] : [shown(changes), ""]), ...outcomes].join("\n"));
    },
    ({ changes }) => ({
      changes: changes.map(({ path, before, after, applied }) => ({ path, before: before ?? null, after: after ?? null, applied })),
    }),
  );
}

function specText(place: string, value: unknown): string {
  try {
    return JSON.stringify(asJson(value));
  } catch (error) {
    if (error instanceof RangeError) throw new CliError(`${place}: ${error.message}`, { code: "bad_document" });
    throw error;
  }
}

function changeOf({ path, before, after, applied }: SpecChange): Applied["changes"][number] {
  const value = (text: string): Json | undefined => (text === "" ? undefined : JSON.parse(text));
  return { path: JSON.parse(path), before: value(before), after: value(after), applied };
}
