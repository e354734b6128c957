/** The text of what was thrown: the message of an error, else the value as text. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
