/**
 * Relations of a class to itself, spelt out in every way: real analyzer, real worker, and a plain
 * loop over the rows as the oracle.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PythonWorld } from "../python-world.ts";
import { valuesOf } from "../worlds.ts";

setDefaultTimeout(300_000);

interface Emp {
  readonly id: number;
  readonly org: string;
  readonly badge: number;
  readonly boss_id: number | null;
  readonly lead_badge: number | null;
}

/**
 * Two bosses have the same badge in different orgs; one row is its own boss; one boss does not
 * exist.
 */
const EMPS: readonly Emp[] = [
  { id: 1, org: "a", badge: 10, boss_id: null, lead_badge: null },
  { id: 2, org: "a", badge: 20, boss_id: 1, lead_badge: 10 },
  { id: 3, org: "b", badge: 10, boss_id: 1, lead_badge: 10 },
  { id: 4, org: "b", badge: 30, boss_id: 4, lead_badge: 10 },
  { id: 5, org: "a", badge: 50, boss_id: 2, lead_badge: 20 },
];

const PROJECT = {
  "features.py": `
from svc import online
from svc.features import DataFrame, features, has_many, has_one

@features
class Emp:
    id: int
    org: str
    badge: int
    boss_id: "Emp.id | None"
    lead_badge: "Emp.badge | None"
    boss: "Emp | None"
    boss_a: "Emp | None" = has_one(lambda: Emp.boss_id == Emp.id)
    boss_b: "Emp | None" = has_one(lambda: Emp.id == Emp.boss_id)
    reports_a: "DataFrame[Emp]" = has_many(lambda: Emp.boss_id == Emp.id)
    reports_b: "DataFrame[Emp]" = has_many(lambda: Emp.id == Emp.boss_id)
    reports_c: "DataFrame[Emp]" = has_many(lambda: (Emp.org == Emp.org) & (Emp.boss_id == Emp.id))
    lead: "Emp | None" = has_one(lambda: (Emp.org == Emp.org) & (Emp.badge == Emp.lead_badge))
    led: "DataFrame[Emp]" = has_many(lambda: (Emp.lead_badge == Emp.badge) & (Emp.org == Emp.org))
    peers: "DataFrame[Emp]" = has_many(lambda: Emp.org == Emp.org)

@online(total=True)
def emps() -> DataFrame[Emp.id, Emp.org, Emp.badge, Emp.boss_id, Emp.lead_badge]:
    return DataFrame([
${EMPS.map((emp) => `        Emp(${Object.entries(emp).map(([name, value]) => `${name}=${value === null ? "None" : JSON.stringify(value)}`)}),`).join("\n")}
    ])
`,
};

let world: PythonWorld;
beforeAll(async () => {
  world = await PythonWorld.start(PROJECT);
});
afterAll(() => world?.close());

test("has-many goes to the rows whose foreign key is the row's key, has-one to the row whose key the foreign key is, in both spellings", async () => {
  const idsOf = (test: (other: Emp) => boolean) => EMPS.filter(test).map((other) => other.id);
  for (const emp of EMPS) {
    const reports = idsOf((other) => other.boss_id === emp.id);
    const boss = idsOf((other) => other.id === emp.boss_id)[0] ?? null;
    const answer = await world.ask({ "emp.id": emp.id }, [
      "emp.boss.id",
      "emp.boss_a.id",
      "emp.boss_b.id",
      "emp.reports_a.id",
      "emp.reports_b.id",
      "emp.reports_c.id",
      "emp.lead.id",
      "emp.led.id",
      "emp.peers.id",
    ]);
    expect(answer.failures).toEqual([]);
    expect(valuesOf(answer)).toEqual({
      "emp.boss.id": boss,
      "emp.boss_a.id": boss,
      "emp.boss_b.id": boss,
      "emp.reports_a.id": reports,
      "emp.reports_b.id": reports,
      "emp.reports_c.id": idsOf((other) => other.boss_id === emp.id && other.org === emp.org),
      "emp.lead.id": idsOf((other) => other.org === emp.org && other.badge === emp.lead_badge)[0] ?? null,
      "emp.led.id": idsOf((other) => other.org === emp.org && other.lead_badge === emp.badge),
      "emp.peers.id": idsOf((other) => other.org === emp.org),
    });
  }
});
