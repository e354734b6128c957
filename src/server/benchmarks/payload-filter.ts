/**
 * What results of a benchmark keep of requests and answers: values of features that are known to be
 * scalars and not personal. Everything else, relations and what cannot be read included, is left
 * out.
 */

/** What stands in place of a value that is not kept. */
export const NOT_KEPT = "(not kept)";

/** A filter of texts of JSON. */
export interface PayloadFilter {
  /** The inputs of a query. */
  inputs(text: string): Readonly<Record<string, unknown>>;
  /** The answer to a query. */
  answer(text: string): { readonly fields: Readonly<Record<string, unknown>>; readonly errors: readonly string[] };
}

/** Makes a filter. @param shown FQNs of the features whose values are kept */
export function createPayloadFilter(shown: readonly string[]): PayloadFilter {
  const known = new Set(shown);
  const kept = (name: string, value: unknown): unknown => (known.has(name) ? value : NOT_KEPT);
  return {
    inputs: (text) => Object.fromEntries(Object.entries(objectOf(text)).map(([name, value]) => [name, kept(name, value)])),
    answer(text) {
      const { data, errors } = objectOf(text);
      return {
        fields: Object.fromEntries(objectsOf(data).map(({ field, value }) => [String(field), kept(String(field), value)])),
        errors: objectsOf(errors).map(({ code }) => String(code)),
      };
    },
  };
}

function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
