/** A monitor of a feature's drift, by values that a real server computed for real queries. */

import { expect, test } from "bun:test";
import { MonitorService, MonitorState } from "../../../gen/svc/v1/monitor_pb.ts";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { StandingClock } from "../../harness/standing-clock.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const PROJECT = {
  "features.py": `from svc import Monitor
from svc.features import features

@features
class User:
    id: int
    score: float
    steady: float

Monitor("score", "max:feature.drift{feature:user.score}.rollup(6h)", above=0.2)
Monitor("steady", "max:feature.drift{feature:user.steady}.rollup(6h)", above=0.2)
`,
  "resolvers.py": `from svc import online
from features import User

@online
def score(id: User.id) -> User.score:
    return id * 1.5

@online
def steady(id: User.id) -> User.steady:
    return float(id % 2)
`,
};

test("of values that shifted fires, of steady ones it does not", async () => {
  using folder = new TempFolder();
  const clock = new StandingClock();
  await using server = await TestServer.start(folder.path, { clock });
  expectLive(await deploy(server, PROJECT));
  /** A token of the time that it is: hours pass. */
  const token = async () => {
    const { clientId, clientSecret } = server.credentials;
    return ((await (await server.exchange(clientId, clientSecret)).json()) as { readonly access_token: string }).access_token;
  };
  /** Asks for 480 rows in answers so small that most of their values are sampled. */
  const ask = async (from: number): Promise<void> => {
    const client = server.client(QueryService, { token: await token() });
    for (let at = 0; at < 60; at++) {
      const values = Array.from({ length: 8 }, (_, row) => ({ value: { case: "text" as const, value: String(from + at * 8 + row) } }));
      const query = { outputs: ["user.score", "user.steady"] };
      expect((await client.queryBulk({ query, inputs: [{ feature: "user.id", values }] })).rows).toBe(8);
    }
  };
  const hour = (Math.floor(clock.now() / HOUR) + 1) * HOUR;
  clock.moveTo(hour + MINUTE);
  await ask(0);
  clock.moveTo(hour + HOUR + MINUTE);
  await ask(100_000);
  const standings = async () => (await server.client(MonitorService, { token: await token() }).listMonitors({})).monitors;
  // The drift of an hour is recorded when it is over, and the monitors are evaluated each minute after it.
  const over = hour + 2 * HOUR;
  let minutes = 1;
  await eventually(async () => {
    const all = await standings();
    if (minutes < 50) clock.moveTo(over + ++minutes * MINUTE);
    return all.every(({ value }) => value !== undefined);
  }, "the drift is recorded and evaluated");
  const [score, steady] = await standings();
  expect([score?.state, (score?.value ?? 0) > 1]).toEqual([MonitorState.FIRING, true]);
  expect([steady?.state, (steady?.value ?? 1) < 0.1]).toEqual([MonitorState.OK, true]);
}, 300_000);
