/**
 * HTML templates that are safe against injection: every value in a template is escaped unless it is
 * an `Html` made here.
 */

/** A piece of finished HTML. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template. Lists are joined; null, undefined and false give nothing. */
export type Part = Html | string | number | bigint | null | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/**
 * Text for an element or a quoted attribute. Invisible characters and those that change the
 * direction of text are shown as `\uXXXX`.
 */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
}

/** Template for HTML: `html\`<b>${name}</b>\``. Put attributes' values in quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? "";
  parts.forEach((part, index) => {
    text += render(part) + (strings[index + 1] ?? "");
  });
  return new Html(text);
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === null || part === undefined || part === false) return "";
  if (typeof part === "object") return part.map(render).join("");
  return escapeHtml(String(part));
}
