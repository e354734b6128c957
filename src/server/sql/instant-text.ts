/** Instants as systems write them, in the form of feature values. */

const ISO = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d+))?(?:Z| ?UTC|[+-]00:?00)?$/;

/**
 * The canonical text of an instant of UTC such as `2024-05-01T12:00:00.5Z`, to the microsecond; any
 * other text as it is.
 */
export function isoInstant(text: string): string {
  const [, date, time, fraction = ""] = ISO.exec(text) ?? [];
  return date === undefined ? text : `${date}T${time}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}
