import { describe, expect, test } from "bun:test";
import { buildGraphIndex } from "../../../../src/server/query/graph/graph-index.ts";
import { pathOf } from "../../../../src/server/query/graph/parameter-index.ts";
import { absoluteRoot, resolveName } from "../../../../src/server/query/request/names.ts";
import { featureClass, featureIdsOf, graph } from "../graphs.ts";

const flights = graph([
  featureClass("airport", { code: { type: "str", primary: true }, latitude: "float", longitude: "float", visits: "has_many" }),
  featureClass("flight", {
    id: "int",
    distance: "float",
    origin_code: "str",
    origin: { to: "airport", on: [["origin_code", "code"]] },
    fails__600__: "int",
    fails__86400__: "int",
  }),
]);
const index = buildGraphIndex(flights, { environmentName: "default", featureIds: featureIdsOf(flights), sources: [] });

/** The path that a name means, or what was said about it. */
function meaning(name: string, root?: string): string {
  const found = resolveName(index, name, root);
  switch (found.kind) {
    case "feature":
      return pathOf(found.root, found);
    case "row":
      return `row ${pathOf(found.root, { relations: found.relations })}`;
    case "group":
      return `group ${found.features.map((feature) => feature.fqn).join(" ")}`;
    case "rows":
      return `rows of ${pathOf(found.root, { relations: found.relations, feature: found.many })} ${found.picks?.join(" ") ?? ""}`.trim();
    default:
      return found.describe(() => true);
  }
}

describe("names", () => {
  test("a first segment that is a namespace makes a name absolute", () => {
    expect(meaning("flight.distance")).toBe("flight.distance");
    expect(meaning("airport.latitude", "flight")).toBe("airport.latitude");
  });

  test("a leading dot makes a name absolute", () => {
    expect(meaning(".flight.distance", "airport")).toBe("flight.distance");
    expect(meaning(".distance", "flight")).toContain("unknown feature '.distance'");
  });

  test("other names are relative to the root", () => {
    expect(meaning("distance", "flight")).toBe("flight.distance");
    expect(meaning("origin.latitude", "flight")).toBe("flight.origin.latitude");
  });

  test("a class or the end of a relation is a row", () => {
    expect(meaning("flight")).toBe("row flight");
    expect(meaning("flight.origin")).toBe("row flight.origin");
    expect(meaning("origin", "flight")).toBe("row flight.origin");
  });

  test("a class that is misspelt is guessed, whatever the root", () => {
    expect(meaning("flght", "airport")).toBe("unknown feature 'flght'; did you mean 'flight'?");
    expect(meaning("flght")).toContain("did you mean 'flight'?");
  });

  test("a window that is not there is answered with those that are, readably", () => {
    for (const name of ["flight.fails[3d]", "flight.fails__259200__"])
      expect(meaning(name)).toBe(
        `unknown feature '${name}': there is no such window; the windows are 'flight.fails[10m]', 'flight.fails[1d]'`,
      );
    expect(meaning("flight.fials[10m]")).toContain("did you mean 'flight.fails[10m]'");
  });

  test("windows are read in every spelling, and the bare name means all of them", () => {
    for (const name of ["flight.fails[10m]", "flight.fails__600__", "flight.fails[600s]", 'flight.fails["10m"]', "fails[10m]"])
      expect(meaning(name, "flight")).toBe("flight.fails__600__");
    expect(meaning("flight.fails[24h]")).toBe("flight.fails__86400__");
    expect(meaning("flight.fails")).toBe("group flight.fails__600__ flight.fails__86400__");
  });

  test("an unknown name gets the closest names", () => {
    expect(meaning("flight.distnace")).toBe("unknown feature 'flight.distnace'; did you mean 'flight.distance'?");
    expect(meaning("distnace", "flight")).toContain("did you mean 'flight.distance'?");
    expect(meaning("flight.origin.latitud")).toContain("'flight.origin.latitude'");
    expect(meaning("fligth.distance")).toContain("'flight.distance'");
    expect(meaning("flight.latitude")).toBe("unknown feature 'flight.latitude'; did you mean 'flight.origin.latitude'?");
  });

  test("at most three names are offered", () => {
    const offered = meaning("flight.fails__601__").match(/'flight\.[^']+'/g) ?? [];
    expect(offered.length).toBeLessThanOrEqual(4);
    expect(meaning("flight.fails__601__")).toContain("'flight.fails[10m]'");
  });

  test("a relative name without a root says so and offers the features of that name", () => {
    expect(meaning("distance")).toBe(
      "unknown feature 'distance' (no input names a namespace, so the name must begin with one); did you mean 'flight.distance'?",
    );
  });

  test("a name in full whose class is not there is answered with that", () => {
    expect(meaning("sailor.name")).toContain("unknown feature 'sailor.name' (there is no feature class 'sailor')");
  });

  test("below a has-many relation are features of its rows", () => {
    expect(meaning("flight.origin.visits")).toBe("rows of flight.origin.visits");
    expect(meaning("flight.origin.visits.code")).toBe("rows of flight.origin.visits code");
    expect(meaning("flight.origin.visits.kode")).toContain("unknown feature 'flight.origin.visits.kode'; did you mean");
  });

  test("nothing lies below a value", () => {
    expect(meaning("flight.distance.km")).toContain("flight.distance is a value (float)");
  });

  test("names of the language are not features", () => {
    for (const name of ["flight.constructor", "flight.__proto__", "flight.toString", "flight.", "flight..id", ".", ""])
      expect(meaning(name, "flight")).toStartWith("unknown feature");
  });

  test("only absolute names say their root", () => {
    expect(absoluteRoot(index, ".flight.x")).toBe("flight");
    expect(absoluteRoot(index, "airport")).toBe("airport");
    expect(absoluteRoot(index, "distance")).toBeUndefined();
  });
});
