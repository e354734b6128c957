/** Colours: on a terminal, unless the environment or --no-color decides otherwise. */

import type { ColorChoice } from "../context/flags.ts";
import type { Style } from "./view.ts";

/**
 * The choice of the flag, else of the environment, in this order: NO_COLOR (no-color.org),
 * FORCE_COLOR and CLICOLOR_FORCE, which also affect pipes, CLICOLOR=0 (bixense.com/clicolors), and
 * a terminal without colours.
 */
export function colorChoice(env: Readonly<Record<string, string | undefined>>, noColor?: boolean): ColorChoice {
  if (noColor !== undefined) return noColor ? "never" : "auto";
  if (env.NO_COLOR) return "never";
  const isSet = (value: string | undefined) => value !== undefined && !/^(0|false)$/i.test(value);
  if (isSet(env.FORCE_COLOR) || (env.CLICOLOR_FORCE && isSet(env.CLICOLOR_FORCE))) return "always";
  return env.FORCE_COLOR !== undefined || env.CLICOLOR === "0" || env.TERM === "dumb" ? "never" : "auto";
}

/** Whether a stream gets colours. */
function hasColor(color: ColorChoice, isTTY: boolean): boolean {
  return color === "always" || (color === "auto" && isTTY);
}

const same = (text: string): string => text;

/**
 * Whether a terminal shows hyperlinks: as FORCE_HYPERLINK says, else by the identification of known
 * terminals. Multiplexers and unknown terminals get plain addresses.
 */
export function showsLinks(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.FORCE_HYPERLINK !== undefined) return env.FORCE_HYPERLINK !== "0";
  if (env.TERM === "dumb" || env.TMUX || /^(screen|tmux)/.test(env.TERM ?? "")) return false;
  if (/^(iTerm\.app|WezTerm|vscode|ghostty|Hyper|rio)$/.test(env.TERM_PROGRAM ?? "")) return true;
  return (
    Number(env.VTE_VERSION ?? 0) >= 5000 ||
    env.WT_SESSION !== undefined ||
    /^(xterm-kitty|alacritty|foot|xterm-ghostty)/.test(env.TERM ?? "")
  );
}

/** A hyperlink as an OSC 8 escape sequence. The address must not contain control characters. */
function hyperlink(url: string, text: string): string {
  return `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\`;
}

/** A style without colours and marks. */
export function plainStyle(options: Partial<Pick<Style, "width" | "isTTY" | "now">> = {}): Style {
  const { width = Number.POSITIVE_INFINITY, isTTY = false, now = Date.now() } = options;
  return { dim: same, bold: same, red: same, yellow: same, green: same, cyan: same, link: same, width, isTTY, hasColor: false, now };
}

/** The style of a stream. The colour package is loaded only when colours are used. */
export async function createStyle(stream: {
  readonly isTTY: boolean;
  readonly color: ColorChoice;
  readonly width: number;
  /** Whether the terminal shows hyperlinks. */
  readonly links?: boolean;
  /** Epoch milliseconds. */
  readonly now?: number;
}): Promise<Style> {
  const link = stream.isTTY && stream.links ? hyperlink : same;
  const plain = plainStyle(stream);
  if (!hasColor(stream.color, stream.isTTY)) return { ...plain, link };
  const { default: picocolors } = await import("picocolors");
  const { dim, bold, red, yellow, green, cyan } = picocolors.createColors(true);
  return { ...plain, hasColor: true, dim, bold, red, yellow, green, cyan, link };
}
