/**
 * Removal of secrets from everything that is logged or reported: by the name of a header or key,
 * and by value. `message-text.ts` adds the fields that the contract marks as secret.
 */

/** The replacement for a secret. */
export const REDACTED = "[redacted]";

const SECRET_HEADER = /^(authorization|proxy-authorization|cookie|set-cookie|.*(token|secret|api-?key|signature).*)$/i;
const SECRET_KEY = /(secret|token|password|credential|authorization|signature|api_?key)/i;
const SIGNED_PARAMETER = /([?&](?:[a-z0-9_-]*(?:signature|sig|token|secret|credential|key)[a-z0-9_-]*)=)[^&#\s"']+/gi;
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/g;
const JWT = /\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]+/g;

/** Removes secrets from output. One instance serves all outputs of a command. */
export interface Redactor {
  /**
   * Registers a secret value, in every encoding in which it may appear (plain, URL-encoded, base64,
   * JSON).
   */
  add(secret: string | undefined): void;
  /** Text without known secrets, bearer tokens and signatures. */
  text(text: string): string;
  /** Headers as `name: value` lines. */
  headers(headers: Headers): string[];
  /** A JSON document on one line; values under keys that sound secret are replaced. */
  json(value: unknown): string;
}

/** A new redactor. */
export function createRedactor(): Redactor {
  const encodings = new Set<string>();
  const text = (given: string): string => {
    let out = given;
    for (const encoding of encodings) out = out.replaceAll(encoding, REDACTED);
    return out
      .replace(BEARER, (_, scheme: string) => `${scheme} ${REDACTED}`)
      .replace(JWT, REDACTED)
      .replace(SIGNED_PARAMETER, (_, name: string) => name + REDACTED);
  };
  return {
    add(secret) {
      if (secret === undefined || secret.length < 4) return;
      const bytes = Buffer.from(secret);
      for (const encoding of [
        secret,
        encodeURIComponent(secret),
        bytes.toString("base64"),
        bytes.toString("base64url"),
        JSON.stringify(secret).slice(1, -1),
      ])
        encodings.add(encoding);
    },
    text,
    headers: (headers) => [...headers].map(([name, value]) => `${name}: ${SECRET_HEADER.test(name) ? REDACTED : text(value)}`),
    json: (value) => text(JSON.stringify(value, (key, item) => (typeof item === "string" && SECRET_KEY.test(key) ? REDACTED : item))),
  };
}
