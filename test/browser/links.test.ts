/** Every address of a page that a command prints opens the page of that very thing. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import type { Browser } from "playwright-core";
import { placeOf } from "../../src/domain/addresses.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "../commands/platform.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { exchange } from "../harness/browser-session.ts";
import { logIn, openTab, type Tab } from "./tab.ts";

/** What a command printed: the address, and the id of what it is of. */
interface Printed {
  readonly url: string;
  readonly id: string;
  /** What the heading of its page ends with; default: the id. */
  readonly heading?: string;
}

/** Fields of the contract named `url` that are addresses of pages; those of one thing have a row below. */
const PAGES = [
  ...[
    "BackfillAggregatesResponse",
    "Benchmark",
    "Dataset",
    "Deployment",
    "EvaluationInfo",
    "EvaluationRun",
    "FunctionVersion",
    "GetFeatureResponse",
    "GetQueryRunResponse",
    "GetResolverResponse",
    "ImageBuild",
    "Job",
    "MonitorStanding",
    "Notebook",
    "OfflineQuery",
    "QueryMeta",
    "ResolverRun",
    "Sandbox",
    "RunTasksResponse",
    "StreamStanding",
    "Task",
    "Trace",
    "Volume",
    "Workflow",
  ],
  "TriggerScheduledQueryResponse",
  // Whose `url` is that of a route beside it.
  ...["Container", "ScalingGroup"],
  // Where one logs in, which other tests open.
  ...["CreateEntryResponse", "CreateLoginSessionResponse"],
];
/** Those of bytes, which need no page, and of other servers. */
const NO_PAGES = [
  ...["AnnounceValueFileResponse", "CreateOfflineQueryUploadResponse", "CreateUploadResponse", "DatasetLink", "DatasetUploadUri"],
  ...["GetFlareResponse", "GetSourceResponse", "JudgeScorer", "OfflineQueryResultFile"],
  ...["ClusterNode", "CreateWebhookRequest", "UpdateWebhookRequest", "Webhook"],
];

/** What runs by itself. */
const RUNS = `from dataclasses import dataclass
from datetime import datetime, timezone
from features import User
from svc import DataFrame, Evaluation, Monitor, exact_match, offline, online
from svc.compute import function
from svc.features import Features, FeatureTime, _, features
from svc.queries import ScheduledQuery
from svc.sources import TopicSource
from svc.streams import Windowed, stream, windowed

ScheduledQuery(name="names", schedule="30 2 * * *", output=[User.name])
Monitor("slow queries/p99", "p99:query.latency", above="80ms")
Evaluation("names/exact", dataset="names", task=lambda name: name, scorers=[exact_match("name")])


@offline(cron="1d")
def known() -> DataFrame[User.id, User.name]:
    return DataFrame({User.id: [1, 2], User.name: ["a", "b"]})


@features
class Visit:
    id: int
    shop_id: "Shop.id"
    at: FeatureTime


@features
class Shop:
    id: int
    visits: DataFrame[Visit]
    visited: Windowed[int] = windowed("1d", expression=_.visits[_.at > _.svc_window, _.at <= _.svc_now].count(), materialization=True)


@online
def visits() -> DataFrame[Visit.id, Visit.shop_id, Visit.at]:
    return DataFrame({Visit.id: [1], Visit.shop_id: [7], Visit.at: [datetime.now(timezone.utc)]})


@dataclass
class Message:
    id: int
    page: str


@features(max_staleness="infinity")
class Click:
    id: int
    page: str


@function
def double(x: int) -> int:
    return 2 * x


@stream(source=TopicSource(name="clicks"))
def on_click(message: Message) -> Features[Click.id, Click.page]:
    return Click(id=message.id, page=message.page)
`;

describe.skipIf(lacksBrowser())("the address that a command prints", () => {
  let platform: Platform;
  let browser: Browser;
  let tab: Tab;
  let project = "";
  const run = async (path: string, ...words: readonly string[]) => {
    const outcome = await runCommand(path, words, { home: platform.home, env: platform.env, dir: project });
    if (outcome.exitCode !== 0) throw new Error(`svc ${path} ${words.join(" ")}: ${outcome.stderr}`);
    return outcome;
  };
  const json = async (path: string, ...words: readonly string[]) => (await run(path, ...words, "--json")).json();
  const deploy = async (...words: readonly string[]): Promise<Printed> => {
    const { deployment_id: id, url } = (await json("apply", "--force", ...words)) as { deployment_id: string; url: string };
    return { id, url };
  };
  const inputs = ["--in", "user.id=7", "--out", "user.name"];
  /** A benchmark that is short. */
  const LOAD = ["--qps", "10", "--duration", "1s", "--warmup-duration", "0s", "--yes"];
  /** The last address in a text. */
  const addressIn = (text: string) => text.match(/https?:\/\/\S+/g)?.at(-1) ?? "";

  /** A row for each command that prints an address. What has a name instead of an id has that. */
  const ROWS: Readonly<Record<string, () => Promise<Printed>>> = {
    apply: () => deploy(),
    "apply --await": () => deploy("--await"),
    "apply --branch": () => deploy("--await", "--branch", "a/b c"),
    async "apply, as text"() {
      const { stdout } = await run("apply", "--force", "--await");
      return { id: /dpl_\w+/.exec(stdout)?.[0] ?? "", url: addressIn(stdout) };
    },
    async "deployment get"() {
      const { id } = await deploy("--await");
      return (await json("deployment/get", id)) as Printed;
    },
    async "deployment list"() {
      const { deployments } = (await json("deployment/list")) as { deployments: readonly Printed[] };
      return deployments.at(-1) as Printed;
    },
    async "query, as text"() {
      const url = addressIn((await run("query", ...inputs)).stdout);
      return { id: url.slice(url.lastIndexOf("/") + 1), url };
    },
    async "queries get"() {
      const { meta } = (await json("query", ...inputs)) as { meta: { query_id: string } };
      const { url } = (await json("queries/get", meta.query_id)) as { url: string };
      return { id: meta.query_id, url };
    },
    async "monitors list"() {
      const { monitors } = (await json("monitors/list")) as { monitors: readonly { monitor: { name: string }; url: string }[] };
      return { id: monitors[0]?.monitor.name ?? "", url: monitors[0]?.url ?? "" };
    },
    trigger: async () => (await json("trigger", "--resolver", "known")) as Printed,
    async "trigger, as text"() {
      const { stdout } = await run("trigger", "--resolver", "known");
      return { id: /^ID: +(\S+)$/m.exec(stdout)?.[1] ?? "", url: addressIn(stdout) };
    },
    async "scheduled-resolver runs get"() {
      const { id } = (await json("trigger", "--resolver", "known")) as Printed;
      return (await json("scheduled-resolver/runs/get", id)) as Printed;
    },
    async "aggregate backfill"() {
      const { job_id: id, url } = (await json("aggregate/backfill", "--feature", "shop.visited")) as { job_id: string; url: string };
      return { id, url };
    },
    async "eval list"() {
      const { evaluations } = (await json("eval/list")) as { evaluations: readonly { evaluation: { name: string }; url: string }[] };
      return { id: evaluations[0]?.evaluation.name ?? "", url: evaluations[0]?.url ?? "" };
    },
    async "eval trigger"() {
      const rows = join(project, "names.jsonl");
      await Bun.write(rows, '{"name": "a"}\n');
      await run("dataset/upload", rows, "--name", "names");
      return (await json("eval/trigger", "names/exact")) as Printed;
    },
    async "benchmark run, and list"() {
      const { id } = (await json("benchmark/run", ...inputs, ...LOAD)) as Printed;
      const { benchmarks } = (await json("benchmark/list")) as { benchmarks: readonly Printed[] };
      return benchmarks.find((one) => one.id === id) as Printed;
    },
    async "benchmark run, as text"() {
      const { stdout } = await run("benchmark/run", ...inputs, ...LOAD);
      return { id: /bench_\w+/.exec(stdout)?.[0] ?? "", url: addressIn(stdout) };
    },
    async "benchmark get, as text"() {
      const { id } = (await json("benchmark/run", ...inputs, ...LOAD)) as Printed;
      return { id, url: addressIn((await run("benchmark/get", id)).stdout) };
    },
    async "notebook create"() {
      const { id, title, url } = (await json("notebook/create")) as Printed & { title: string };
      return { id, url, heading: title };
    },
    async "notebook list"() {
      await json("notebook/create", "--title", "a/b c");
      const { notebooks } = (await json("notebook/list")) as { notebooks: readonly Printed[] };
      return { ...(notebooks[0] as Printed), heading: "a/b c" };
    },
    async "task run"() {
      const { task_ids: ids, url } = (await json("task/run", "work.py::main")) as { task_ids: readonly string[]; url: string };
      return { id: ids[0] ?? "", url };
    },
    async "task run, of many"() {
      const lines = join(project, "lines.jsonl");
      await Bun.write(lines, "{}\n{}\n");
      const { workflow_id: id, url } = (await json("task/run", "work.py::main", "--args-file", lines)) as {
        workflow_id: string;
        url: string;
      };
      return { id, url };
    },
    async "task list"() {
      await json("task/run", "work.py::main");
      const { tasks } = (await json("task/list")) as { tasks: readonly Printed[] };
      return tasks[0] as Printed;
    },
    async "compute list"() {
      const { functions } = (await json("compute/list")) as { functions: readonly { name: string; url: string }[] };
      return { id: functions[0]?.name ?? "", url: functions[0]?.url ?? "" };
    },
    async "compute get"() {
      const { name, url } = (await json("compute/get", "--name", "double")) as { name: string; url: string };
      return { id: name, url };
    },
    async "imgbuild list"() {
      const { builds } = (await json("imgbuild/list")) as { builds: readonly { name: string; url: string }[] };
      return { id: builds[0]?.name ?? "", url: builds[0]?.url ?? "" };
    },
    async "streams list"() {
      const { streams } = (await json("streams/list")) as { streams: readonly { name: string; url: string }[] };
      return { id: streams[0]?.name ?? "", url: streams[0]?.url ?? "" };
    },
    async "streams get"() {
      const { name, url } = (await json("streams/get", "on_click")) as { name: string; url: string };
      return { id: name, url };
    },
    async "features show"() {
      const { url } = (await json("features/show", "user.name")) as { url: string };
      return { id: "user.name", url };
    },
    async "features show, as text"() {
      return { id: "user.name", url: addressIn((await run("features/show", "user.name")).stdout) };
    },
    async "resolvers show"() {
      const { resolver, url } = (await json("resolvers/show", "known")) as { resolver: { fqn: string }; url: string };
      return { id: resolver.fqn, url };
    },
    async "dataset upload"() {
      const rows = join(project, "known.jsonl");
      await Bun.write(rows, '{"name": "a"}\n');
      const { dataset } = (await json("dataset/upload", rows, "--name", "known/names")) as { dataset: { name: string; url: string } };
      return { id: dataset.name, url: dataset.url };
    },
    async "dataset list"() {
      await run("dataset/upload", join(project, "known.jsonl"), "--name", "known/names");
      const { datasets } = (await json("dataset/list")) as { datasets: readonly { name: string; url: string }[] };
      return { id: datasets[0]?.name ?? "", url: datasets[0]?.url ?? "" };
    },
    "offline-query": async () => (await json("offline-query", ...inputs)) as Printed,
    async "offline-query get, as text"() {
      const { id } = (await json("offline-query", ...inputs)) as Printed;
      return { id, url: addressIn((await run("offline-query/get", id)).stdout) };
    },
    async "jobs get"() {
      const { id: subject } = (await json("trigger", "--resolver", "known")) as Printed;
      return (await json("jobs/get", subject)) as Printed;
    },
    async "workflows get"() {
      const lines = join(project, "lines.jsonl");
      await Bun.write(lines, "{}\n{}\n");
      const { workflow_id: id } = (await json("task/run", "work.py::main", "--args-file", lines)) as { workflow_id: string };
      return (await json("workflows/get", id)) as Printed;
    },
    async "trace get"() {
      const { meta } = (await json("query", ...inputs, "--trace")) as { meta: { query_id: string } };
      const { trace_id: id, url } = (await json("trace/get", "--operation-id", meta.query_id)) as { trace_id: string; url: string };
      return { id, url };
    },
    async "trace list"() {
      await json("query", ...inputs, "--trace");
      const { traces } = (await json("trace/list")) as { traces: readonly { trace_id: string; url: string }[] };
      return { id: traces[0]?.trace_id ?? "", url: traces[0]?.url ?? "" };
    },
    async "volume get"() {
      await run("volume/create", "--name", "kept");
      const { name, url } = (await json("volume/get", "--name", "kept")) as { name: string; url: string };
      return { id: name, url };
    },
    async "container get, as text"() {
      const { id, name } = (await run("container/run", "--image", "host:", "--json", "--", "sleep", "600")).json() as {
        id: string;
        name: string;
      };
      const url = addressIn((await run("container/get", "--id", id)).stdout);
      await run("container/stop", "--id", id, "--yes");
      return { id, url, heading: name };
    },
    "scheduled-query trigger": async () => (await json("scheduled-query/trigger", "--name", "names")) as Printed,
  };

  beforeAll(async () => {
    [platform, browser] = await Promise.all([startPlatform({ SVC_HOST_PROGRAMS: "on" }), launchBrowser()]);
    project = writeProject();
    await Bun.write(join(project, "runs.py"), RUNS);
    await Bun.write(join(project, "work.py"), "def main():\n    print('worked')\n");
    await deploy("--await");
    tab = await openTab(browser, platform.url);
    const { SVC_CLIENT_ID: id = "", SVC_CLIENT_SECRET: secret = "" } = platform.env;
    await logIn(tab, platform, await exchange(platform.url, id, secret));
  }, 300_000);
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]();
    await browser?.close();
    await platform?.server.stop();
  });

  test.each(Object.entries(ROWS))(
    "%s",
    async (_, print) => {
      const { heading, id, url } = await print();
      expect(id).not.toBe("");
      expect(placeOf(url.slice(platform.url.length))?.params ?? {}).toContainValue(id);
      const response = await tab.page.goto(url);
      expect(response?.status()).toBe(200);
      await tab.page.getByRole("heading", { level: 1, name: new RegExp(`${heading ?? id}$`) }).waitFor();
      await tab.page.locator("main h2, main [role=tab], main .facts").first().waitFor();
      expect(tab.complaints.splice(0)).toEqual([]);
    },
    300_000,
  );

  test("dashboard", async () => {
    const { id } = await deploy("--await");
    const { url } = (await json("dashboard", `/deployments/${id}`)) as { url: string };
    await using other = await openTab(browser, platform.url);
    await other.page.goto(url);
    await other.page.getByRole("heading", { level: 1, name: new RegExp(`${id}$`) }).waitFor();
    expect(placeOf(new URL(other.page.url()).pathname)).toMatchObject({ page: "deployment", params: { id } });
  }, 300_000);
});

test("every url in the contract is known here", async () => {
  const folder = join(import.meta.dir, "../../gen/svc/v1");
  const found: string[] = [];
  for (const path of new Bun.Glob("*_pb.ts").scanSync({ cwd: folder, absolute: true })) {
    const file = Object.values((await import(path)) as Record<string, { kind?: string }>).find(
      ({ kind }) => kind === "file",
    ) as unknown as DescFile;
    found.push(...file.messages.flatMap(withUrl));
  }
  expect(found.toSorted()).toEqual([...PAGES, ...NO_PAGES].toSorted());
});

/** Messages with a field `url`, by name. */
function withUrl(message: DescMessage): string[] {
  const own = message.fields.some(({ name }) => name === "url") ? [message.name] : [];
  return [...own, ...message.nestedMessages.flatMap(withUrl)];
}
