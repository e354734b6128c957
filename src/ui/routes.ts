/** The pages: one row each, with the file that is loaded when somebody goes there. */

import type { ComponentType } from "preact";
import type { PageName, Place } from "../domain/addresses.ts";

/** Groups of the navigation, in their order. */
export const GROUPS = ["Define", "Run", "Deploy", "Compute", "Observe", "Settings"] as const;

/** What a page's component is given. */
export interface PageProps<P extends PageName = PageName> {
  readonly place: Place<P>;
}

/** A page. */
export interface Route {
  /** Its name in the navigation and the palette. */
  readonly title: string;
  /** Its group in the navigation; absent = it is not there. */
  readonly group?: (typeof GROUPS)[number];
  /** Of a page of one thing: that of the list which it belongs to. */
  readonly list?: PageName;
  /** The key that goes there after `g`. */
  readonly key?: string;
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>;
}

/** A page's row; the page takes places of its own name only. */
function route<P extends PageName>(
  _: P,
  row: Omit<Route, "load"> & { readonly load: () => Promise<{ readonly default: ComponentType<PageProps<P>> }> },
): Route {
  return row as Route;
}

/** The rows by the names of pages, in the order of the navigation. */
export const ROUTES: Readonly<Partial<Record<PageName, Route>>> = {
  overview: route("overview", { title: "Overview", group: "Define", key: "o", load: () => import("./pages/define/overview.tsx") }),
  features: route("features", { title: "Features", group: "Define", key: "f", load: () => import("./pages/define/features.tsx") }),
  feature: route("feature", { title: "Feature", list: "features", load: () => import("./pages/define/feature.tsx") }),
  graph: route("graph", { title: "Lineage", group: "Define", key: "i", load: () => import("./pages/define/graph.tsx") }),
  resolvers: route("resolvers", { title: "Resolvers", group: "Define", key: "r", load: () => import("./pages/define/resolvers.tsx") }),
  resolver: route("resolver", { title: "Resolver", list: "resolvers", load: () => import("./pages/define/resolver.tsx") }),
  namedQueries: route("namedQueries", {
    title: "Named queries",
    group: "Define",
    key: "n",
    load: () => import("./pages/define/named-queries.tsx"),
  }),
  namedQuery: route("namedQuery", { title: "Named query", list: "namedQueries", load: () => import("./pages/define/named-query.tsx") }),
  sources: route("sources", { title: "Sources", group: "Define", key: "s", load: () => import("./pages/define/sources.tsx") }),
  source: route("source", { title: "Source", list: "sources", load: () => import("./pages/define/source.tsx") }),
  query: route("query", { title: "Query", group: "Run", key: "q", load: () => import("./pages/run/query.tsx") }),
  queryRuns: route("queryRuns", { title: "Query runs", group: "Run", key: "u", load: () => import("./pages/run/query-runs.tsx") }),
  queryRun: route("queryRun", { title: "Query run", list: "queryRuns", load: () => import("./pages/run/query-run.tsx") }),
  queryRunStage: route("queryRunStage", { title: "Stage", list: "queryRuns", load: () => import("./pages/run/query-run-stage.tsx") }),
  runs: route("runs", { title: "Runs", group: "Run", key: "j", load: () => import("./pages/run/runs.tsx") }),
  run: route("run", { title: "Run", list: "runs", load: () => import("./pages/run/run.tsx") }),
  schedules: route("schedules", { title: "Schedules", group: "Run", load: () => import("./pages/run/schedules.tsx") }),
  datasets: route("datasets", { title: "Datasets", group: "Run", load: () => import("./pages/run/datasets.tsx") }),
  dataset: route("dataset", { title: "Dataset", list: "datasets", load: () => import("./pages/run/dataset.tsx") }),
  evals: route("evals", { title: "Evaluations", group: "Run", load: () => import("./pages/run/evals.tsx") }),
  eval: route("eval", { title: "Evaluation", list: "evals", load: () => import("./pages/run/eval.tsx") }),
  evalRun: route("evalRun", { title: "Run of an evaluation", list: "evals", load: () => import("./pages/run/eval-run.tsx") }),
  benchmarks: route("benchmarks", { title: "Benchmarks", group: "Run", load: () => import("./pages/run/benchmarks.tsx") }),
  benchmark: route("benchmark", { title: "Benchmark", list: "benchmarks", load: () => import("./pages/run/benchmark.tsx") }),
  notebooks: route("notebooks", { title: "Notebooks", group: "Run", load: () => import("./pages/run/notebooks.tsx") }),
  notebook: route("notebook", { title: "Notebook", list: "notebooks", load: () => import("./pages/run/notebook.tsx") }),
  deployments: route("deployments", {
    title: "Deployments",
    group: "Deploy",
    key: "d",
    load: () => import("./pages/deploy/deployments.tsx"),
  }),
  deployment: route("deployment", { title: "Deployment", list: "deployments", load: () => import("./pages/deploy/deployment.tsx") }),
  branches: route("branches", { title: "Branches", group: "Deploy", load: () => import("./pages/deploy/branches.tsx") }),
  traffic: route("traffic", { title: "Traffic", group: "Deploy", load: () => import("./pages/deploy/traffic.tsx") }),
  streams: route("streams", { title: "Streams", group: "Deploy", load: () => import("./pages/deploy/streams.tsx") }),
  stream: route("stream", { title: "Stream", list: "streams", load: () => import("./pages/deploy/stream.tsx") }),
  aggregates: route("aggregates", { title: "Kept aggregates", group: "Deploy", load: () => import("./pages/deploy/aggregates.tsx") }),
  containers: route("containers", { title: "Containers", group: "Compute", load: () => import("./pages/compute/containers.tsx") }),
  container: route("container", { title: "Container", list: "containers", load: () => import("./pages/compute/container.tsx") }),
  scalingGroups: route("scalingGroups", {
    title: "Scaling groups",
    group: "Compute",
    load: () => import("./pages/compute/scaling-groups.tsx"),
  }),
  scalingGroup: route("scalingGroup", {
    title: "Scaling group",
    list: "scalingGroups",
    load: () => import("./pages/compute/scaling-group.tsx"),
  }),
  sandboxes: route("sandboxes", { title: "Sandboxes", group: "Compute", load: () => import("./pages/compute/sandboxes.tsx") }),
  sandbox: route("sandbox", { title: "Sandbox", list: "sandboxes", load: () => import("./pages/compute/sandbox.tsx") }),
  volumes: route("volumes", { title: "Volumes", group: "Compute", load: () => import("./pages/compute/volumes.tsx") }),
  volume: route("volume", { title: "Volume", list: "volumes", load: () => import("./pages/compute/volume.tsx") }),
  functions: route("functions", { title: "Functions", group: "Compute", load: () => import("./pages/compute/functions.tsx") }),
  function: route("function", { title: "Function", list: "functions", load: () => import("./pages/compute/function.tsx") }),
  images: route("images", { title: "Builds", group: "Compute", load: () => import("./pages/compute/images.tsx") }),
  image: route("image", { title: "Build", list: "images", load: () => import("./pages/compute/image.tsx") }),
  clusters: route("clusters", { title: "Clusters", group: "Compute", load: () => import("./pages/compute/clusters.tsx") }),
  cluster: route("cluster", { title: "Cluster", list: "clusters", load: () => import("./pages/compute/cluster.tsx") }),
  traces: route("traces", { title: "Traces", group: "Observe", key: "t", load: () => import("./pages/observe/traces.tsx") }),
  trace: route("trace", { title: "Trace", list: "traces", load: () => import("./pages/observe/trace.tsx") }),
  errors: route("errors", { title: "Errors", group: "Observe", key: "e", load: () => import("./pages/observe/errors.tsx") }),
  metrics: route("metrics", { title: "Metrics", group: "Observe", key: "m", load: () => import("./pages/observe/metrics.tsx") }),
  monitors: route("monitors", { title: "Monitors", group: "Observe", key: "w", load: () => import("./pages/observe/monitors.tsx") }),
  monitor: route("monitor", { title: "Monitor", list: "monitors", load: () => import("./pages/observe/monitor.tsx") }),
  logs: route("logs", { title: "Logs", group: "Observe", key: "l", load: () => import("./pages/observe/logs.tsx") }),
  audit: route("audit", { title: "Audit", group: "Observe", load: () => import("./pages/observe/audit.tsx") }),
  usage: route("usage", { title: "Usage", group: "Observe", load: () => import("./pages/observe/usage.tsx") }),
  settings: route("settings", { title: "Settings", group: "Settings", load: () => import("./pages/settings/settings.tsx") }),
  setting: route("setting", { title: "Settings", list: "settings", load: () => import("./pages/settings/setting.tsx") }),
  gallery: route("gallery", { title: "Gallery", load: () => import("./pages/gallery.tsx") }),
};

/** The row of a page; undefined when there is none yet. */
export function routeOf(page: PageName): Route | undefined {
  return ROUTES[page];
}
