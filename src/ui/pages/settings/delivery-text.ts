/** What is sent to receivers and comes back, as text to read. */

/** JSON on lines of its own; what is none, or would change, stays as it is. */
export function bodyText(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    return JSON.stringify(value) === body ? JSON.stringify(value, null, 2) : body;
  } catch {
    return body;
  }
}
