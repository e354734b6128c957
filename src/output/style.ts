/** Colours: on a terminal, unless NO_COLOR or --no-color says otherwise. */

import type { Style } from "./view.ts";

const same = (text: string): string => text;

/** A style that adds nothing. */
export function plainStyle(options: { readonly width?: number; readonly isTTY?: boolean } = {}): Style {
  const { width = Number.POSITIVE_INFINITY, isTTY = false } = options;
  return { dim: same, bold: same, red: same, yellow: same, green: same, cyan: same, width, isTTY };
}

/** The style for a stream. The colour package is loaded only when there is colour. */
export async function createStyle(stream: { readonly isTTY: boolean; readonly color: boolean; readonly width: number }): Promise<Style> {
  if (!stream.isTTY || !stream.color) return plainStyle(stream);
  const { default: picocolors } = await import("picocolors");
  const { dim, bold, red, yellow, green, cyan } = picocolors.createColors(true);
  return { dim, bold, red, yellow, green, cyan, width: stream.width, isTTY: true };
}
