/**
 * What translating Python resolvers gains: the same queries with and without it, and one that no
 * translation helps, from one client and from sixteen.
 */

import type { Sandbox } from "../harness/sandbox.ts";
import { type Requests, sampleText, send, serve } from "./client.ts";
import { computeProject } from "./compute-project.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject } from "./generate-project.ts";
import type { Latencies } from "./load.ts";

const KEYS = 500;
const CLIENTS = [1, 16] as const;
const ARITHMETIC = "one resolver of arithmetic";
const DIAMOND = "ten resolvers of arithmetic in a diamond";
const LOOP = "one resolver that loops";

interface Subject extends Requests {
  readonly requests: number;
}

/** Queries for one row, translated against Python of the same run. */
export async function measureTranslation(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const { "shop.py": _, "txn.svc.sql": __, ...project } = computeProject();
  const served = await serve(sandbox, { ...queryProject(), ...project });
  const ask = (key: string, output: string, requests: number, isTranslated = true): Subject => ({
    ...served.json(
      "/v1/query/online",
      Array.from({ length: KEYS }, (_, index) => ({
        inputs: { [key]: index + 1 },
        outputs: [output],
        ...(isTranslated ? {} : { planner_options: { disable_translation: "true" } }),
      })),
    ),
    requests,
  });
  const subjects: Record<string, Subject> = {
    [ARITHMETIC]: ask("profile.id", "profile.live", 3_000),
    [inPython(ARITHMETIC)]: ask("profile.id", "profile.live", 3_000, false),
    [DIAMOND]: ask("sum.id", "sum.bottom", 1_500),
    [inPython(DIAMOND)]: ask("sum.id", "sum.bottom", 1_500, false),
    [LOOP]: ask("node.id", "node.top", 3_000),
  };
  for (const name of [ARITHMETIC, DIAMOND]) {
    const [here, python] = await Promise.all([name, inPython(name)].map((one) => answerOf(one, subjects[one] as Subject)));
    if (here !== python) throw new Error(`${name}: ${here} translated, ${python} in Python`);
  }
  await answerOf(LOOP, subjects[LOOP] as Subject);
  const measured = await interleave<string, Latencies>(
    rounds,
    Object.fromEntries(
      CLIENTS.flatMap((concurrency) =>
        Object.entries(subjects).map(([name, subject]) => [at(name, concurrency), () => send({ ...subject, concurrency })]),
      ),
    ),
  );
  const of = (name: string, clients: number, figure: "p50" | "p99" | "perSecond") =>
    median((measured[at(name, clients)] ?? []).map((latencies) => latencies[figure]));
  return CLIENTS.flatMap((clients) => [
    ...[ARITHMETIC, DIAMOND].flatMap((name) => figures(name, inPython(name), clients, of)),
    ...figures(LOOP, undefined, clients, of),
  ]);
}

function inPython(name: string): string {
  return `${name}, in Python`;
}

function at(name: string, clients: number): string {
  return `${name}, ${clients} ${clients === 1 ? "client" : "clients"}`;
}

function figures(
  name: string,
  python: string | undefined,
  clients: number,
  of: (name: string, clients: number, figure: "p50" | "p99" | "perSecond") => number,
): Line[] {
  const against = (figure: "p50" | "p99" | "perSecond"): Partial<Line> =>
    python ? { ratio: of(name, clients, figure) / of(python, clients, figure), anchor: "of Python" } : {};
  const lines = (one: string, isAnchor: boolean): Line[] => [
    { what: `${at(one, clients)}, p50`, value: milliseconds(of(one, clients, "p50")), ...(isAnchor ? {} : against("p50")) },
    { what: `${at(one, clients)}, p99`, value: milliseconds(of(one, clients, "p99")), ...(isAnchor ? {} : against("p99")) },
    {
      what: `${at(one, clients)}, rate`,
      value: `${Math.round(of(one, clients, "perSecond"))}/s`,
      ...(isAnchor ? {} : against("perSecond")),
    },
  ];
  return [...(python ? lines(python, true) : []), ...lines(name, python === undefined)];
}

/** The value of an answer; what is measured must have one, and no errors. Warms up. */
async function answerOf(name: string, subject: Subject): Promise<unknown> {
  const answer = JSON.parse(sampleText(await send({ ...subject, requests: KEYS, concurrency: 1 })));
  const value: unknown = answer.data?.[0]?.value;
  if (typeof value !== "number" || answer.errors?.length) throw new Error(`${name} gave no answer: ${JSON.stringify(answer)}`);
  return value;
}
