/** The theme: the system's, or light or dark, as chosen in this browser. */

import { effect, signal } from "@preact/signals";

const KEY = "svc-theme";

/** The themes that can be chosen. */
export const THEMES = ["system", "light", "dark"] as const;
/** A theme. */
export type Theme = (typeof THEMES)[number];

const stored = localStorage.getItem(KEY);

/** The chosen theme. */
export const theme = signal<Theme>(THEMES.find((one) => one === stored) ?? "system");

effect(() => {
  if (theme.value === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(KEY);
  } else {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem(KEY, theme.value);
  }
});
