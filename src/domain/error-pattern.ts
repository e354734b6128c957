/** What errors say apart from the values that they name, so that equal ones can be counted. */

/** Most characters of a message that a pattern is made of. */
const MAX_MESSAGE = 2_000;

/**
 * What stands in place of a value, in this order: a UUID, or an id such as `qry_0198c0de7a4b`; a
 * quoted text; a number in hex, or eight hex digits or more with a decimal one among them; a number
 * other than that of a line of code.
 */
const PLACEHOLDERS: readonly (readonly [values: RegExp, placeholder: string])[] = [
  [/(?<![\p{L}\p{N}])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![\p{L}\p{N}])/giu, "<id>"],
  [/(?<![\p{L}\p{N}_])[a-z]{2,8}_(?=[a-z]{0,64}\d)[0-9a-z]{8,64}(?![\p{L}\p{N}_])/gu, "<id>"],
  [/(?<![\p{L}\p{N}])(['"`])(?:(?!\1)[^\n]){0,500}\1(?![\p{L}\p{N}])/gu, "$1<text>$1"],
  [/(?<![\p{L}\p{N}_])0x[0-9a-f]+(?![\p{L}\p{N}_])/giu, "<hex>"],
  [/(?<![\p{L}\p{N}_])(?=[a-f]{0,64}\d)[0-9a-f]{8,128}(?![\p{L}\p{N}_])(?<=[a-f][0-9]*)/giu, "<hex>"],
  [/(?<![\p{L}\p{N}_]|\.py:)[-+]?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\p{L}_])/giu, "<n>"],
];

/** The pattern of a message: the same for messages that differ in values alone. */
export function errorPattern(message: string): string {
  let pattern = message.slice(0, MAX_MESSAGE).replace(/\s+/g, " ").trim();
  for (const [values, placeholder] of PLACEHOLDERS) pattern = pattern.replace(values, placeholder);
  return pattern;
}
