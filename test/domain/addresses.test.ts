import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { addressOf, entryAddress, inEnvironment, isOfEnvironment, PAGE_NAMES, type PageName, placeOf } from "../../src/domain/addresses.ts";
import { seeded } from "../harness/seed.ts";

/** The parameters that each page with any has; a page without a row has none. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(["feature", "resolver"].map((page) => [page, ["fqn"]])),
  ...Object.fromEntries(
    [
      ...["namedQuery", "source", "schedule", "dataset", "eval", "stream", "monitor"],
      ...["container", "scalingGroup", "function", "image", "volume", "cluster"],
    ].map((page) => [page, ["name"]]),
  ),
  ...Object.fromEntries(
    ["queryRun", "run", "notebook", "benchmark", "deployment", "sandbox", "trace", "login"].map((page) => [page, ["id"]]),
  ),
  queryRunStage: ["id", "stage"],
  evalRun: ["name", "id"],
  setting: ["section"],
};

const name = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1 }),
  fc.string({ unit: "binary", minLength: 1 }).map((text) => text.toWellFormed()),
  fc.constantFrom(".", "..", "~.", "~~..", "...", "/", "//x", "a/b", "\\", "%", "%2e%2e", "?", "#", "&a=b", "<b>", "\u202e", " ", "é"),
);
const scopePart = fc.option(name, { nil: "" });
const query = fc
  .array(fc.tuple(name, fc.string({ unit: "grapheme" })), { maxLength: 4 })
  .map((entries) => entries.filter(([key]) => key !== "branch" && key !== "deployment"));

describe("addresses", () => {
  test("every one of every page leads back to what it was made of, through a browser's own parser too", () => {
    const place = fc.constantFrom(...PAGE_NAMES).chain((page) =>
      fc.record({
        page: fc.constant(page),
        params: fc.record(Object.fromEntries((PARAMETERS[page] ?? []).map((key) => [key, name]))),
        environment: scopePart,
        branch: scopePart,
        deployment: scopePart,
        query,
      }),
    );
    fc.assert(
      fc.property(place, ({ page, params, query, ...given }) => {
        const address = addressOf(page, params as never, { ...given, query: new URLSearchParams(query) });
        const scope = isOfEnvironment(page) ? given : { environment: "", branch: "", deployment: "" };
        for (const through of [address, pathOf(new URL(address, "http://server.test"))]) {
          const found = placeOf(through);
          expect(found && { ...found, query: [...found.query] }).toEqual({ page, params, scope, query } as never);
        }
      }),
      seeded(1000),
    );
  });

  test("no address leaves the server", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...PAGE_NAMES.filter((page) => (PARAMETERS[page] ?? []).length === 1)),
        name,
        name,
        (page, value, environment) => {
          const [key = ""] = PARAMETERS[page] ?? [];
          const address = addressOf(page, { [key]: value } as never, { environment });
          expect(new URL(address, "http://server.test").origin).toBe("http://server.test");
          expect(address).toMatch(/^\/[^/\\]/);
        },
      ),
      seeded(1000),
    );
  });

  test("those that svc has printed are known", () => {
    const cases: Record<string, PageName> = {
      "/": "overview",
      "/environments/env_1": "overview",
      "/environments/env_1/": "overview",
      "/environments/env_1/deployments/dpl_2": "deployment",
      "/environments/env_1/query-runs/q_3": "queryRun",
      "/environments/env_1/query-runs/q_3/stages/4?from=200": "queryRunStage",
      "/cli/login_5": "login",
      "/enter#code=x&to=%2F": "entry",
      "/features/user.id": "feature",
    };
    for (const [address, page] of Object.entries(cases)) expect([address, placeOf(address)?.page]).toEqual([address, page]);
    expect(addressOf("deployment", { id: "dpl_2" }, { environment: "env_1" })).toBe("/environments/env_1/deployments/dpl_2");
    expect(addressOf("features", {}, { environment: "e", branch: "a b", query: new URLSearchParams("q=x") })).toBe(
      "/environments/e/features?q=x&branch=a+b",
    );
    expect(entryAddress("abc", "/a?b")).toBe("/enter#code=abc&to=%2Fa%3Fb");
  });

  test.each(["", "nothing", "/nothing", "/environments", "/environments/", "/environments/e/gallery", "/environments/e/cli/x"])(
    "%p is none",
    (address) => expect(placeOf(address)).toBeUndefined(),
  );

  test.each(["/features/%", "/features/%ff", "/environments/e//x", "/features//", "/deployments/a/b"])("%p is none", (address) =>
    expect(placeOf(address)).toBeUndefined(),
  );

  test("an address takes the environment that it lacks, and keeps the one that it names", () => {
    const cases: Record<string, string> = {
      "/": "/environments/env_1",
      "/metrics": "/environments/env_1/metrics",
      "/features/user.id?q=a%20b&branch=b#x=1#y": "/environments/env_1/features/user.id?q=a+b&branch=b#x=1#y",
      "/environments/env_2/metrics": "/environments/env_2/metrics",
      "/cli/login_5": "/cli/login_5",
      "/nothing": "/nothing",
    };
    for (const [address, whole] of Object.entries(cases)) expect([address, inEnvironment(address, "env_1")]).toEqual([address, whole]);
    expect(inEnvironment("/metrics", "")).toBe("/metrics");
  });

  test("a parameter that is empty is refused: the address would be another page's", () => {
    expect(() => addressOf("feature", { fqn: "" })).toThrow(RangeError);
  });
});

const pathOf = ({ pathname, search }: URL) => pathname + search;
