/** What JSON holds, of json values and of texts. */

import type { FeatureValue } from "../../value.ts";
import { defineFamily } from "../definition.ts";
import { EvaluationError } from "../evaluation-error.ts";
import { atPath, jsonText, parseJson, parseJsonPath, scalarText } from "../json-path.ts";

const checkPath = ([, path]: readonly (FeatureValue | undefined)[]): void => {
  if (typeof path === "string") parseJsonPath(path);
};

const valueAt = (root: FeatureValue, path: string): string | null => scalarText(atPath(root, parseJsonPath(path)));

function arrayAt(root: FeatureValue, path: string): FeatureValue[] | null {
  const found = atPath(root, parseJsonPath(path)) ?? null;
  if (found !== null && !Array.isArray(found)) throw new EvaluationError(`what stands at ${path} is no array`);
  return found?.filter((item) => item !== null).map(jsonText) ?? null;
}

/** Functions of JSON. */
export const JSON_VALUES = defineFamily("json", {
  json_value: {
    doc: "The text, number or truth value at a place of JSON, as text; null where there is no such place, or null, a list or an object. A text that is no JSON is an error. Places are named `$.user.tags[0]['a b']`; `[-1]` is the last.",
    example: 'F.json_value(_.payload, "$.user.name")',
    parameters: ["json", "path"],
    checkConstants: checkPath,
    overloads: [
      ["json, str -> str?", valueAt],
      ["str, str -> str?", (text: string, path: string) => valueAt(parseJson(text), path)],
    ],
  },
  json_extract_array: {
    doc: "The elements of the array at a place of JSON as texts, without those that are null; lists and objects in it are compact JSON. Null where there is no such place, or null; anything else there is an error.",
    example: 'F.json_extract_array(_.payload, "$.tags")',
    parameters: ["json", "path"],
    checkConstants: checkPath,
    overloads: [
      ["json, str -> list[str]?", arrayAt],
      ["str, str -> list[str]?", (text: string, path: string) => arrayAt(parseJson(text), path)],
    ],
  },
});
