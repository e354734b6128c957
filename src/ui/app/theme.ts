/** The theme of this browser: light or dark, or undefined = the system's. */

import { signal } from "@preact/signals";
import { THEME_COOKIE, type Theme, themeNamed } from "../../domain/theme.ts";

const KEPT_S = 365 * 86_400;
const root = document.documentElement;

/** The theme, which the document came with. */
export const theme = signal(themeNamed(root.dataset.theme));

/** Changes the theme, and keeps it for this browser. */
export function chooseTheme(chosen: Theme | undefined): void {
  theme.value = chosen;
  if (chosen) root.dataset.theme = chosen;
  else delete root.dataset.theme;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store needs TLS
  document.cookie = `${THEME_COOKIE}=${chosen ?? ""}; Path=/; SameSite=Lax; Max-Age=${chosen ? KEPT_S : 0}`;
}
