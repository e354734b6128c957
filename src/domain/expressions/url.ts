/** Parts of a URL, as RFC 3986 and Python's `urllib.parse` tell them apart. */

/** The parts of a URL; null for those that it does not have. */
export interface UrlParts {
  /** In lower case. */
  readonly protocol: string | null;
  /** In lower case, without user, port and brackets. */
  readonly host: string | null;
  readonly port: number | null;
  /** As it is written; empty when there is none. */
  readonly path: string;
  readonly query: string | null;
  readonly fragment: string | null;
}

/** The expression of RFC 3986, appendix B, with its letters of a scheme. */
const PARTS = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;

/** What no URL has: spaces, control characters. */
const NO_URL = /[\0- \x7f]/;

/** The parts of a URL, absolute or relative; undefined when the text is none. */
export function urlParts(text: string): UrlParts | undefined {
  if (NO_URL.test(text)) return undefined;
  const [, scheme, authority, path = "", query, fragment] = PARTS.exec(text) ?? [];
  const place = placeOf(authority);
  if (!place) return undefined;
  return { protocol: scheme?.toLowerCase() ?? null, ...place, path, query: query ?? null, fragment: fragment ?? null };
}

/** Host and port of an authority; undefined when it is none. */
function placeOf(authority = ""): Pick<UrlParts, "host" | "port"> | undefined {
  const found = /^(?:[^[\]]*@)?(?:\[([0-9A-Fa-f:.]*)\]|([^[\]:@]*))(?::([0-9]*))?$/.exec(authority);
  if (!found) return undefined;
  const [, inBrackets, plain, digits] = found;
  const port = digits ? Number(digits) : null;
  if (port !== null && port > 65_535) return undefined;
  return { host: (inBrackets ?? plain)?.toLowerCase() || null, port };
}

/**
 * The first value of a parameter in a query, decoded: `+` is a space, and bytes are UTF-8. Empty
 * when it stands there without a value, null when it does not.
 */
export function queryParameter(query: string, name: string): string | null {
  for (const part of query.split("&")) {
    const at = part.indexOf("=");
    if (part !== "" && decoded(at < 0 ? part : part.slice(0, at)) === name) return at < 0 ? "" : decoded(part.slice(at + 1));
  }
  return null;
}

function decoded(text: string): string {
  return text.replaceAll("+", " ").replace(/(?:%[0-9A-Fa-f]{2})+/g, (escapes) => {
    const bytes = Uint8Array.from(escapes.slice(1).split("%"), (digits) => Number.parseInt(digits, 16));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  });
}
