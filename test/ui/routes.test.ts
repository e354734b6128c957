import { expect, test } from "bun:test";
import { ROUTES, routeOf } from "../../src/ui/routes.ts";

test("every page is in the navigation, or belongs to a list that is", () => {
  const lost = Object.entries(ROUTES).flatMap(([name, { group, list }]) =>
    group !== undefined || (list !== undefined && routeOf(list)?.group !== undefined) ? [] : [name],
  );
  expect(lost).toEqual(["gallery"]);
});
