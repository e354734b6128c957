/**
 * Which folder may import which: the two halves meet only in the contract and in pure rules, and
 * each package has one home.
 */

import { describe, expect, test } from "bun:test";
import { join, relative } from "node:path";
import { findComponents } from "../src/domain/components.ts";

const SRC = join(import.meta.dir, "../src");

interface Import {
  readonly file: string;
  /** Folder or file below `src`, `gen`, or a package's name. */
  readonly target: string;
  /** Path below `src`, for our own files. */
  readonly path: string;
  readonly kind: "static" | "dynamic" | "type";
}

/** Source text without comments; text in quotes stays. */
function withoutComments(text: string): string {
  return text.replace(
    /("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (_, quoted: string | undefined) => quoted ?? "",
  );
}

function importsOf(file: string, text: string): Import[] {
  const found: Import[] = [];
  const add = (kind: Import["kind"], specifier: string) => {
    const path = specifier.startsWith(".") ? relative(SRC, join(SRC, file, "..", specifier)) : "";
    const target = path.startsWith("../gen/")
      ? "gen"
      : path === ""
        ? packageName(specifier)
        : path.startsWith("..")
          ? path
          : (path.split("/")[0] ?? "");
    found.push({ file, target, path, kind });
  };
  for (const [, typeOnly, names, specifier] of text.matchAll(/\b(?:import|export)\s+(type\s)?([\w$*{}\s,]*?)\s*(?:from\s*)?"([^"\n]+)"/g)) {
    const named = /^\{(.*)\}$/s.exec(names?.trim() ?? "")?.[1];
    const allTypes = named?.split(",").every((name) => name.trim() === "" || name.trim().startsWith("type "));
    add(typeOnly || (allTypes && named?.trim()) ? "type" : "static", specifier as string);
  }
  for (const [, specifier] of text.matchAll(/\b(?:import|require)\(\s*"([^"\n]+)"\s*\)/g)) add("dynamic", specifier as string);
  return found;
}

const packageName = (specifier: string) =>
  specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : (specifier.split("/")[0] ?? "");

const sources = new Map<string, string>();
for (const file of new Bun.Glob("**/*.{ts,tsx}").scanSync(SRC)) sources.set(file, withoutComments(await Bun.file(join(SRC, file)).text()));
const imports = [...sources].flatMap(([file, text]) => importsOf(file, text));
const folderOf = (file: string) => file.split("/")[0] ?? "";

/**
 * What a folder may import of ours, besides itself; `types` only as types, `lazily` only by
 * `import()` (and as types).
 */
const DIRECTIONS: Readonly<
  Record<string, { readonly all: readonly string[]; readonly types?: readonly string[]; readonly lazily?: readonly string[] }>
> = {
  "main.ts": { all: ["cli", "context", "commands"] },
  "build-info.ts": { all: [] },
  "baked-packages.ts": { all: [] },
  "modules.ts": { all: [] },
  cli: { all: ["output", "errors", "domain", "build-info.ts"], types: ["context"] },
  context: { all: ["errors", "disk", "domain"], lazily: ["config", "client", "project", "python", "release"] },
  output: { all: ["contract", "domain", "errors"], types: ["context", "gen"] },
  disk: { all: ["domain"] },
  errors: { all: ["disk", "domain", "gen"], types: ["context"] },
  config: { all: ["errors", "disk", "domain", "gen"], types: ["context"] },
  contract: { all: ["domain", "gen"] },
  client: { all: ["contract", "gen", "errors", "config", "disk", "domain", "build-info.ts"], types: ["context"] },
  release: {
    all: ["client", "config", "errors", "disk", "domain", "build-info.ts", "../CHANGELOG.md"],
    types: ["context"],
  },
  project: { all: ["gen", "disk", "domain", "errors", "output", "python"], types: ["context"] },
  python: { all: ["gen", "disk", "domain"], types: ["context", "project"] },
  "client-packages": { all: ["disk", "errors", "python"], types: ["context"] },
  // It is compiled by itself, for machines without anything else of ours.
  "typescript-client": { all: [] },
  account: { all: ["config"], types: ["context"] },
  agents: {
    all: ["client", "config", "contract", "deploy", "disk", "docs", "domain", "errors", "output", "project"],
    types: ["context"],
  },
  codegen: { all: ["gen", "disk", "domain", "project"] },
  deploy: { all: ["gen", "config", "domain", "errors", "output", "project"], types: ["context"], lazily: ["python"] },
  doctor: { all: ["gen", "config", "domain", "errors", "build-info.ts"], types: ["context", "project"] },
  "dataset-files": { all: ["disk", "domain", "errors"], types: ["context", "gen"] },
  "value-files": { all: ["disk", "domain", "errors", "gen"], types: ["context"] },
  "query-client": { all: ["disk", "domain", "errors", "gen", "output"], types: ["context"] },
  "log-client": { all: ["domain", "errors", "gen", "output"], types: ["context"] },
  "topic-client": { all: ["errors", "output"] },
  "shell-client": { all: ["domain", "errors"], types: ["client", "context"] },
  "sandbox-files": { all: ["disk", "domain", "errors", "shell-client"], types: ["context"] },
  // Interrupting a cell is a call after the command's own signal has ended its calls.
  "notebook-client": { all: ["errors", "gen"], types: ["context"], lazily: ["context"] },
  docs: { all: ["build-info.ts", "cli", "domain", "python"], lazily: ["commands"] },
  "task-client": { all: ["domain", "errors", "gen", "log-client"], types: ["context"] },
  commands: {
    all: [
      ...["cli", "output", "errors", "config", "contract", "project", "domain", "gen", "build-info.ts", "modules.ts"],
      ...["account", "agents", "baked-packages.ts", "client-packages", "codegen", "dataset-files", "deploy", "docs", "doctor"],
      ...["log-client", "notebook-client", "query-client", "sandbox-files", "shell-client", "task-client", "topic-client", "value-files"],
    ],
    types: ["context", "client", "python", "release"],
  },
  server: {
    all: ["contract", "modules.ts", "build-info.ts", "baked-packages.ts", "gen", "disk", "docs", "domain", "python"],
    types: ["context"],
  },
  domain: { all: ["gen"] },
  // It is bundled for browsers, so nothing of it may need more than they have.
  ui: { all: ["domain"], types: ["gen"] },
  packaging: { all: ["client-packages", "contract", "disk", "domain", "cli", "errors"], lazily: ["commands"] },
  sdk: { all: [] },
};

/** Imports that a single file is allowed beyond its folder. */
const EXCEPTIONS: Readonly<Record<string, { readonly files?: readonly string[]; readonly lazily?: readonly string[] }>> = {
  "commands/server/start.ts": { lazily: ["server"] },
  // Processes of the server are this program again.
  "context/internal-commands.ts": { lazily: ["server"] },
  // The document that the bundler makes the dashboard of.
  "server/pages/files.ts": { files: ["ui/index.html"] },
  // What the bundler is told of its pages.
  "server/pages/baked-page-names.ts": { files: ["ui/routes.ts"] },
  // No clock can be handed to a thread.
  "server/webhooks/outbox-worker.ts": { files: ["context/system-clock.ts"] },
};

describe("directions", () => {
  test.each(Object.keys(DIRECTIONS))("%s", (folder) => {
    const rule = DIRECTIONS[folder] ?? { all: [] };
    const wrong = imports
      .filter(({ file, path }) => folderOf(file) === folder && path !== "")
      .filter(({ file, path, target, kind }) => {
        const exception = EXCEPTIONS[file];
        if (target === folder || rule.all.includes(target) || exception?.files?.includes(path)) return false;
        if (kind === "type") return ![...(rule.types ?? []), ...(rule.lazily ?? []), ...(exception?.lazily ?? [])].includes(target);
        return kind === "static" || ![...(rule.lazily ?? []), ...(exception?.lazily ?? [])].includes(target);
      });
    expect(wrong.map(({ file, path, kind }) => `${file} -> ${path} (${kind})`)).toEqual([]);
  });

  test("every folder has a rule", () => {
    expect([...new Set([...sources.keys()].map(folderOf))].filter((folder) => !(folder in DIRECTIONS))).toEqual([]);
  });

  test("the server knows of the context only the clock", () => {
    const wrong = imports.filter(
      ({ file, path }) =>
        folderOf(file) === "server" &&
        path.startsWith("context/") &&
        path !== "context/clock.ts" &&
        !EXCEPTIONS[file]?.files?.includes(path),
    );
    expect(wrong.map(({ file, path }) => `${file} -> ${path}`)).toEqual([]);
  });
});

/**
 * Which rooms of the server a room imports, types included. Files beside the rooms (failures, the
 * log, identifiers) are for all of them and import none. The order is that of the house: a room
 * imports only rooms that stand before it.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  thread: [],
  http1: [],
  http2: [],
  arrow: [],
  expressions: [],
  python: [],
  tables: ["thread"],
  sql: ["thread", "expressions", "tables"],
  stores: ["tables", "thread"],
  tiles: ["expressions", "stores"],
  vectors: ["stores", "thread"],
  metrics: ["stores"],
  logs: ["python", "stores"],
  jobs: ["metrics", "stores"],
  otlp: ["jobs", "logs", "metrics", "stores", "thread"],
  nodes: ["metrics", "stores", "jobs"],
  access: ["stores", "jobs", "nodes"],
  documents: ["stores", "jobs", "nodes"],
  processes: ["metrics", "stores"],
  secrets: ["stores", "jobs", "access", "documents"],
  topics: ["jobs", "nodes", "stores", "thread"],
  probes: ["sql", "thread", "topics"],
  connections: ["access", "documents", "jobs", "probes"],
  environments: ["access", "documents", "jobs", "stores"],
  audit: ["stores", "jobs"],
  writes: ["stores"],
  datasets: ["access", "jobs", "stores", "tables"],
  catalog: ["stores", "tables"],
  infrastructure: ["documents", "jobs", "metrics", "nodes", "otlp", "stores", "writes"],
  usage: ["datasets", "metrics", "processes", "stores"],
  support: ["documents", "stores"],
  sinks: ["metrics", "python", "stores"],
  query: ["expressions", "metrics", "python", "sinks", "sql", "stores", "tiles", "vectors", "writes"],
  deployments: [
    "access",
    "documents",
    "jobs",
    "logs",
    "metrics",
    "nodes",
    "processes",
    "python",
    "query",
    "secrets",
    "sinks",
    "sql",
    "stores",
    "tables",
    "tiles",
    "vectors",
    "writes",
  ],
  "resolver-runs": ["access", "deployments", "jobs", "metrics", "nodes", "query", "stores", "writes"],
  "offline-queries": ["access", "catalog", "datasets", "deployments", "jobs", "metrics", "query", "stores", "tables", "writes"],
  tasks: ["access", "deployments", "jobs", "logs", "processes", "python", "stores"],
  evaluations: ["access", "datasets", "deployments", "jobs", "logs", "metrics", "processes", "python", "stores", "tables"],
  functions: ["access", "arrow", "deployments", "jobs", "metrics", "python", "query", "stores"],
  notebooks: ["access", "deployments", "jobs", "logs", "nodes", "processes", "python", "stores"],
  "scheduled-queries": ["access", "deployments", "jobs", "offline-queries", "stores"],
  "query-log": ["deployments", "query", "stores"],
  deletions: ["deployments", "jobs", "nodes", "query-log", "stores"],
  aggregates: ["datasets", "deletions", "deployments", "jobs", "metrics", "offline-queries", "query", "stores", "tables", "tiles"],
  "value-uploads": ["access", "deletions", "deployments", "jobs", "python", "query", "stores", "tables", "writes"],
  streams: [
    "access",
    "aggregates",
    "deletions",
    "deployments",
    "expressions",
    "jobs",
    "metrics",
    "nodes",
    "python",
    "query",
    "sinks",
    "stores",
    "tables",
    "tiles",
    "topics",
    "value-uploads",
  ],
  approvals: ["access", "deletions", "deployments", "environments", "jobs", "secrets", "stores", "value-uploads"],
  webhooks: ["access", "deletions", "documents", "jobs", "query", "stores", "streams", "thread", "value-uploads"],
  charts: ["documents"],
  monitors: ["deployments", "jobs", "metrics", "stores", "webhooks"],
  shells: ["access", "deployments", "processes", "stores"],
  engines: ["processes", "shells", "thread"],
  benchmarks: ["access", "datasets", "deployments", "documents", "engines", "jobs", "stores", "tables", "thread", "webhooks"],
  containers: [
    "access",
    "deployments",
    "documents",
    "engines",
    "jobs",
    "logs",
    "metrics",
    "nodes",
    "processes",
    "secrets",
    "shells",
    "stores",
  ],
  images: ["containers", "deployments", "engines", "processes", "python", "stores"],
  "scaling-groups": ["access", "containers", "documents", "http1", "http2", "jobs", "metrics", "nodes", "stores"],
  watches: ["jobs", "logs", "stores"],
  wire: [
    "access",
    "aggregates",
    "approvals",
    "arrow",
    "audit",
    "benchmarks",
    "catalog",
    "charts",
    "connections",
    "datasets",
    "deletions",
    "deployments",
    "documents",
    "engines",
    "environments",
    "evaluations",
    "functions",
    "http2",
    "images",
    "infrastructure",
    "jobs",
    "logs",
    "metrics",
    "monitors",
    "nodes",
    "notebooks",
    "offline-queries",
    "otlp",
    "pages",
    "probes",
    "processes",
    "query",
    "query-log",
    "resolver-runs",
    "scheduled-queries",
    "scaling-groups",
    "secrets",
    "shells",
    "containers",
    "stores",
    "streams",
    "support",
    "tables",
    "tasks",
    "thread",
    "topics",
    "ui",
    "usage",
    "value-uploads",
    "watches",
    "webhooks",
  ],
  ui: ["access", "wire"],
  pages: ["access", "ui", "wire"],
  gateway: ["access", "containers", "http1", "http2", "logs", "metrics", "nodes", "scaling-groups", "stores", "wire"],
  boot: [
    "access",
    "aggregates",
    "approvals",
    "audit",
    "benchmarks",
    "catalog",
    "charts",
    "connections",
    "datasets",
    "deletions",
    "deployments",
    "documents",
    "environments",
    "evaluations",
    "functions",
    "gateway",
    "images",
    "infrastructure",
    "jobs",
    "logs",
    "metrics",
    "monitors",
    "nodes",
    "notebooks",
    "offline-queries",
    "otlp",
    "processes",
    "python",
    "query-log",
    "resolver-runs",
    "scheduled-queries",
    "scaling-groups",
    "secrets",
    "shells",
    "engines",
    "containers",
    "stores",
    "streams",
    "support",
    "tables",
    "tasks",
    "tiles",
    "vectors",
    "topics",
    "usage",
    "value-uploads",
    "watches",
    "webhooks",
    "wire",
    "writes",
  ],
};

describe("rooms of the server", () => {
  const roomOf = (path: string) => (path.split("/").length > 2 ? (path.split("/")[1] ?? "") : "");
  const inside = imports.filter(({ file, path }) => folderOf(file) === "server" && path.startsWith("server/"));

  test("every room has a rule", () => {
    expect([...new Set(inside.map(({ file }) => roomOf(file)))].filter((room) => room !== "" && !(room in ROOMS))).toEqual([]);
  });

  test.each(["", ...Object.keys(ROOMS)])("%s", (room) => {
    const wrong = inside.filter(({ file, path }) => {
      const [from, to] = [roomOf(file), roomOf(path)];
      return from === room && to !== room && to !== "" && !ROOMS[room]?.includes(to);
    });
    expect(wrong.map(({ file, path }) => `${file} -> ${path}`)).toEqual([]);
  });

  test("arrows run down: a room imports those before it, but for the pages, which the router loads", () => {
    const order = Object.keys(ROOMS);
    const up = order.flatMap((room, at) =>
      (ROOMS[room] ?? []).filter((other) => order.indexOf(other) > at).map((other) => `${room} -> ${other}`),
    );
    expect(up).toEqual(["wire -> pages", "wire -> ui"]);
  });
});

test("no more than three files import each other in a circle, types included", () => {
  const needs = Map.groupBy(
    imports.filter(({ kind, path }) => kind !== "dynamic" && sources.has(path)),
    ({ file }) => file,
  );
  const components = findComponents(sources.keys(), (file) => needs.get(file)?.map(({ path }) => path) ?? []);
  const circles = [...new Set(components.values())].filter(({ size }) => size > 3);
  expect(needs.get("server/query/run/executor.ts")?.length).toBeGreaterThan(10);
  expect(circles.map((files) => [...files].sort())).toEqual([]);
});

/** Packages, and the folders that may import them. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  citty: ["cli"],
  consola: ["context"],
  "@clack/prompts": ["context"],
  picocolors: ["output"],
  ofetch: ["client"],
  "@connectrpc/connect-web": ["client"],
  "@platformatic/kafka": ["server"],
  "@duckdb/node-bindings": ["server"],
  "jq-wasm": ["output"],
  mustache: ["output"],
  preact: ["ui"],
  "@preact/signals": ["ui"],
};

describe("packages", () => {
  test.each(Object.entries(HOMES))("%s is known to %p only", (name, homes) => {
    const users = imports.filter(({ target }) => target === name);
    expect(users.length).toBeGreaterThan(0);
    expect(users.filter(({ file }) => !homes.includes(folderOf(file))).map(({ file }) => file)).toEqual([]);
  });

  test("the heavy ones are loaded only when needed", () => {
    const eager = new Set<string>();
    const reach = (file: string) => {
      if (eager.has(file) || !sources.has(file)) return;
      eager.add(file);
      for (const one of imports) if (one.file === file && one.kind === "static" && one.path !== "") reach(one.path);
    };
    reach("main.ts");
    const packages = imports
      .filter(({ file, path, kind }) => eager.has(file) && path === "" && kind === "static")
      .map(({ target }) => target);
    expect(packages.filter((name) => !name.startsWith("node:") && !name.startsWith("bun:"))).toEqual([]);
    expect([...eager].filter((file) => /^(client|config|project|python|release|server)\//.test(file))).toEqual([]);
  });
});

describe("the machine", () => {
  const PURE = ["cli", "output", "errors", "domain", "commands"];

  test("cli, output, errors, domain and commands touch no files, processes or consoles", () => {
    const modules = imports.filter(
      ({ file, target }) => PURE.includes(folderOf(file)) && /^node:(fs|child_process|process|os|net|http|https|tty)/.test(target),
    );
    expect(modules.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
    const globals = [...sources].filter(
      ([file, text]) =>
        PURE.includes(folderOf(file)) &&
        /(?<![\w.$"'`-])(process|console)\.[a-z]/.test(text.replace(/"(?:[^"\\\n]|\\.)*"|`[^`$]*`/g, '""')),
    );
    expect(globals.map(([file]) => file)).toEqual([]);
  });

  test("process.exit stands in no other place than the one that cuts off a crashed process; in a worker it ends the thread alone", () => {
    const exits = [...sources].filter(([file, text]) => /process\.exit\(/.test(text) && !file.endsWith("-worker.ts")).map(([file]) => file);
    expect(exits).toEqual(["context/signals.ts"]);
  });

  test("names say the concept", () => {
    const files = [...sources.keys()];
    expect(files.filter((file) => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*(\.d)?\.tsx?$/.test(file))).toEqual([]);
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|common|shared|lib)(\/|\.ts$)/.test(file))).toEqual([]);
  });
});

test("whether a program is there is asked in test/harness/needs.ts, which names what is absent", async () => {
  const asking: string[] = [];
  for await (const file of new Bun.Glob("**/*.test.ts").scan(import.meta.dir)) {
    const text = await Bun.file(join(import.meta.dir, file)).text();
    if (/skipIf\(!?Bun\.|Bun\.which\([^)]*\) [!=]== null/.test(text)) asking.push(file);
  }
  expect(asking).toEqual([]);
});

test("lines of prose have at most 100 columns", async () => {
  const wide: string[] = [];
  for (const file of new Bun.Glob("**/*.{ts,tsx,py}").scanSync(SRC)) {
    const lines = (await Bun.file(join(SRC, file)).text()).split("\n");
    for (const [at, line] of lines.entries())
      if (line.length > 100 && /^\s*(\*|\/\/|\/\*\*|#:?|""") /.test(line)) wide.push(`${file}:${at + 1}`);
  }
  expect(wide).toEqual([]);
});

describe("test/ mirrors src/", () => {
  /** Folders of tests of something that is no folder of src, with what it is. */
  const OWN_FOLDERS: Readonly<Record<string, string>> = {
    binary: "the compiled binary",
    browser: "the dashboard in a browser",
    harness: "what tests are made with",
    install: "install.sh and install.ps1",
    parsing: "every parser of text at once",
    runner: "the test command",
    sdk: "the Python package, as a whole",
  };
  const folderOfPath = (path: string) => path.split("/").slice(0, -1).join("/");
  const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1).replace(/(\.test)?\.(tsx?|py)$/, "");
  const sourceFiles = [...new Bun.Glob("**/*.{ts,tsx,py}").scanSync(SRC)];
  const sourceFolders = new Set(sourceFiles.map(folderOfPath));
  const testFiles = [...new Bun.Glob("**/*.test.ts").scanSync(import.meta.dir)].filter(
    (path) => path.includes("/") && !((path.split("/")[0] ?? "") in OWN_FOLDERS),
  );

  test("a test stands in a folder that src has", () => {
    const isFolder = (folder: string) => [...sourceFolders].some((one) => one === folder || one.startsWith(`${folder}/`));
    expect(testFiles.filter((path) => !isFolder(folderOfPath(path)))).toEqual([]);
  });

  test("a test with the name of one source file stands where that stands", () => {
    const misplaced = testFiles.flatMap((path) => {
      const room = path.split("/")[0] ?? "";
      const namesakes = sourceFiles.filter((file) => file.startsWith(`${room}/`) && nameOf(file) === nameOf(path));
      const isThere = namesakes.some((file) => folderOfPath(file) === folderOfPath(path));
      return namesakes.length !== 1 || isThere ? [] : [`${path}: ${namesakes.join(", ")}`];
    });
    expect(misplaced).toEqual([]);
  });

  test("every folder that has tests of its own is named", () => {
    expect(Object.keys(OWN_FOLDERS).filter((folder) => sourceFolders.has(folder) && folder !== "sdk")).toEqual([]);
  });
});

describe("time in tests", () => {
  /** Files outside of the bench that read a clock to compare what it says, with the reason. */
  const READS_A_CLOCK: Readonly<Record<string, string>> = {
    "run.ts": "prints how long files took",
    "browser/size.test.ts": "prints how long a search took",
    "server/benchmarks/benchmarks.test.ts": "the clock of a receiver that stalls",
    "harness/eventually.ts": "ends a hang",
    "server/http2/connection.test.ts": "tells a connection that later has come",
    "harness/editor.ts": "ends a hang",
    "harness/terminal.ts": "ends a hang",
    "harness/server-watch.ts": "prints how long the slowest answer took",
    "server/stores/random-kills.ts": "prints how long the slowest start took",
    "server/topics/conformance.ts": "another millisecond, so that two pushes have times of their own",
    "parsing/extremes.ts": "prints what was slow",
    "disk/result-cache.test.ts": "makes files older",
    "disk/rename-held.ts": "shows that something was waited for: a busy machine makes it longer",
    "binary/answers.test.ts": "shows that a wait that was asked for was kept: a busy machine makes it longer",
    "python/analyze.test.ts": "gives a limit that this machine can keep",
    "packaging/release.test.ts": "an expiry, in days",
    "server/python/logs.test.ts": "the times of lines, between two readings",
    "server/python/deadlines.test.ts": "keeps the event loop from reading",
    "server/stores/metadata/store.conformance.ts": "lets a millisecond pass between two requests",
  };
  /** Tests that pause, with the reason. A loop that pauses until something holds needs none. */
  const PAUSES: Readonly<Record<string, string>> = {
    "browser/size.test.ts": "ends the wait for a change that does not come",
    "binary/answers.test.ts": "a server that resets a connection while it is read",
    "sdk/orchestrator.test.ts": "a controller that sends a byte at a time",
    "server/benchmarks/benchmarks.test.ts": "a receiver that stalls, and one that is slow",
    "binary/hostile-bodies.test.ts": "senders that are slow, and silent for a while",
    "binary/hostile-requests.test.ts": "asks at intervals until connections are closed",
    "binary/hostile-resolvers.test.ts": "asks at intervals until the work is done",
    "binary/server-lifecycle.test.ts": "a kill at a random moment; calls that have to reach the server before a signal does",
    "binary/update-hosts.test.ts": "looks at intervals how much memory there is",
    "binary/update-killed.test.ts": "a kill at a random moment",
    "binary/wrong-servers.test.ts": "a server that sends a byte a second",
    "client/auth.test.ts": "a server that takes its time, so that others come meanwhile",
    "client/calls.test.ts": "a server that sends in parts",
    "commands/query/benchmark.test.ts": "an interruption in the middle of a load",
    "config/file.test.ts": "reads at intervals while others write",
    "context/process.test.ts": "a program that takes its time",
    "disk/lock.test.ts": "holds a lock for a moment",
    "python/analysis-cache.test.ts": "lets the clock of the file system go on",
    "release/http-source.test.ts": "an interruption after a moment",
    "server/wire/http/body.test.ts": "a sender that is slow",
    "server/approvals/kills.test.ts": "a kill at a random moment",
    "server/offline-queries/kills.test.ts": "a kill at a random moment",
    "server/resolver-runs/kills.test.ts": "a kill at a random moment",
    "server/streams/kills.test.ts": "a kill at a random moment",
    "server/streams/killed-servers.test.ts": "a kill at a random moment",
    "server/boot/data-files.test.ts": "lets the group commit end",
    "server/jobs/kills.test.ts": "a kill at a random moment",
    "server/nodes/two-nodes.test.ts": "a moment in which another node could have taken up the work",
    "server/python/deadlines.test.ts": "keeps the event loop from reading, for a while",
    "server/stores/damaged-files.test.ts": "ends a hang",
    "server/stores/online/conformance.test.ts": "writes and sweeps that cross each other",
  };
  const CLOCK =
    /performance\.now\(\)|Bun\.nanoseconds|process\.hrtime|Date\.now\(\) *[<>]|Date\.now\(\) - [a-z]|(?<!=)[-<>]=? *Date\.now\(\)/;
  const PAUSE = /Bun\.sleep(Sync)?\((?!0\))|setTimeout\(/;
  /** A clock that a test hands on, and a loop that waits for a state. */
  const NO_PAUSE = /sleep: \(ms|while \(.*\) await Bun\.sleep\(/;

  async function matching(glob: string, holds: (line: string) => boolean): Promise<string[]> {
    const found: string[] = [];
    for await (const file of new Bun.Glob(glob).scan(import.meta.dir)) {
      if (file.startsWith("bench/") || file === "architecture.test.ts") continue;
      const lines = withoutComments(await Bun.file(join(import.meta.dir, file)).text()).split("\n");
      if (lines.some(holds)) found.push(file);
    }
    return found.sort();
  }

  test("is bounded nowhere but in the bench: a machine that is busy fails no test", async () => {
    expect(await matching("**/*.ts", (line) => CLOCK.test(line))).toEqual(Object.keys(READS_A_CLOCK).sort());
  });

  test("is no way to see that nothing happens: `isPending`, `turn` or a later event shows it", async () => {
    const pausing = await matching("**/*.test.ts", (line) => PAUSE.test(line) && !NO_PAUSE.test(line));
    expect(pausing).toEqual(Object.keys(PAUSES).sort());
  });
});

test("random cases have the seed of the run", async () => {
  const unseeded: string[] = [];
  for await (const file of new Bun.Glob("**/*.ts").scan(import.meta.dir)) {
    const text = await Bun.file(join(import.meta.dir, file)).text();
    const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
    if (count(/\bfc\.assert\(/g) > count(/\bseeded\(/g)) unseeded.push(file);
    if (count(/\bfc\.sample\(/g) > count(/\bseed\b|\bseeded\(/g)) unseeded.push(file);
  }
  expect(unseeded).toEqual([]);
});
