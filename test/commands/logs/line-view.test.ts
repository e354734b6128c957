import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { AggregateLogsResponseSchema } from "../../../gen/svc/v1/log_pb.ts";
import { countsText } from "../../../src/commands/logs/line-view.ts";
import { createStyle, plainStyle } from "../../../src/output/style.ts";
import { seeded } from "../../harness/seed.ts";

const LEVELS = ["error", "warning", "info", "debug"];
const answer = (windows: readonly (readonly number[])[]) =>
  create(AggregateLogsResponseSchema, {
    counts: windows.flatMap((counts, window) =>
      counts.map((count, level) => ({ startTime: timestampFromMs(window * 60_000), level: LEVELS[level] ?? "", count: BigInt(count) })),
    ),
    window: durationFromMs(60_000),
    startTime: timestampFromMs(0),
    endTime: timestampFromMs(windows.length * 60_000),
  });

test("counts are bars of their levels on a terminal: of blocks with colours, of ASCII without", async () => {
  const few = answer([[1, 0, 8, 1]]);
  expect(countsText(few, plainStyle({ width: 44, isTTY: true }))).toBe(
    "1970-01-01T00:00:00Z  10 #---------------.\n# errors  = warnings  - info  . debug",
  );
  const style = await createStyle({ isTTY: true, color: "always", width: 44 });
  expect(Bun.stripANSI(countsText(few, style))).toContain("10 █▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░\n█ errors  ▓ warnings");
});

test("whatever is counted, no bar is wider than the terminal, and no level that there is has none", () => {
  const counts = fc.tuple(...LEVELS.map(() => fc.oneof(fc.nat(3), fc.nat(100_000))));
  fc.assert(
    fc.property(fc.array(counts, { minLength: 1, maxLength: 5 }), fc.integer({ min: 45, max: 200 }), (windows, width) => {
      const rows = countsText(answer(windows), plainStyle({ width, isTTY: true }))
        .split("\n")
        .slice(0, -1);
      expect(rows.length).toBe(windows.length);
      for (const [at, row] of rows.entries()) {
        expect(row.length).toBeLessThanOrEqual(width);
        for (const [level, sign] of [..."#=-."].entries()) {
          const bar = row.slice("1970-01-01T00:00:00Z  ".length);
          expect(bar.includes(sign)).toBe((windows[at]?.[level] ?? 0) > 0);
        }
      }
    }),
    seeded(300),
  );
});
