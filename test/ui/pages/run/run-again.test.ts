import { expect, test } from "bun:test";
import { againForm, againRequest, againWords } from "../../../../src/ui/pages/run/run-again.ts";

test("a run is made again as it was, in what is live now", () => {
  const form = againForm({ resolver: "a.b", deploymentId: "dpl_1", lowerBound: "2026-01-01T00:00:00Z", persistOnline: true });
  expect(againRequest("a.b", form)).toEqual({
    ...{ resolver: "a.b", deploymentId: "", persistOnline: true, persistOffline: false, lowerBound: "2026-01-01T00:00:00.000Z" },
  });
  expect(againWords("a.b", form)).toEqual([
    ...["trigger", "--resolver", "a.b", "--lower-bound", "2026-01-01T00:00:00Z", "--persist-online=true", "--persist-offline=false"],
  ]);
});

test("a text that is no time is refused before it is asked", () => {
  const form = againForm({});
  for (const lowerBound of ["yesterday", "2026-01-01", "2026-01-01T25:00:00Z"])
    expect(againRequest("a.b", { ...form, lowerBound })).toEqual({ noTime: lowerBound });
});
