/**
 * The theme of the dashboard, as a browser chose it. It is in a cookie, so that the document comes
 * with it and nothing is painted in another one first.
 */

/** Name of the cookie; without it the theme is the system's. */
export const THEME_COOKIE = "svc_theme";

/** The themes that can be chosen. */
export const THEMES = ["light", "dark"] as const;
/** A theme that was chosen. */
export type Theme = (typeof THEMES)[number];

/** The theme of this name; undefined when there is none. */
export function themeNamed(name: string | undefined): Theme | undefined {
  return THEMES.find((theme) => theme === name);
}
