/** Sizes in words. */

import { expect, test } from "bun:test";
import { sizeText } from "../../src/domain/size.ts";

test.each([
  [0, "0 kB"],
  [1, "1 kB"],
  [15_090, "16 kB"],
  [99_999, "100 kB"],
  [100_000, "0.1 MB"],
  [42_700_000, "42.7 MB"],
  [1_000_000_000, "1.0 GB"],
  [74_548_200_000, "74.5 GB"],
])("%d bytes are %s", (bytes, text) => expect(sizeText(bytes)).toBe(text));
