/** Answers of other systems, which are read to a bound and whose words are quoted with care. */

/** Most characters of another system's own words that are passed on. */
const MAX_WORDS = 200;

/**
 * The body of an answer; undefined when it is longer than `maxBytes`. Rejects when it breaks off.
 */
export async function answerBytes({ body }: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** The JSON object of a text; undefined when it is none. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Words of another system, on one line and short. */
export function plain(words: string): string {
  return words
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_WORDS);
}

/** The pause in milliseconds that a `Retry-After` asks for, in seconds or until a time. */
export function askedPauseMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}
