import { expect, test } from "bun:test";
import { bodyText } from "../../../../src/ui/pages/settings/delivery-text.ts";

test("JSON is laid out unless that would change it, and all else stays as it is", () => {
  expect(bodyText('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  for (const text of ['{"id":12345678901234567890}', '{"a": 1}', '{"cut":"of', "<p>no</p>", ""]) expect(bodyText(text)).toBe(text);
});
