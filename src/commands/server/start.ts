import { buildInfo } from "../../build-info.ts";
import { defineCommand, type InputOf } from "../../cli/command.ts";
import { bool, choice, duration, int, keyValue, list, path, text } from "../../cli/flag.ts";
import { isLoopback } from "../../config/address.ts";
import { DEFAULT_KEY, readEntries, updateEntry } from "../../config/file.ts";
import { svcHome } from "../../config/home.ts";
import { secretOf } from "../../config/keychain.ts";
import { startInBackground } from "../../config/local-server.ts";
import { locateConfig } from "../../config/location.ts";
import { DEFAULT_API_SERVER } from "../../config/resolve.ts";
import { openServerLog } from "../../config/server-log.ts";
import type { Context } from "../../context/context.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import type { InitialCredentials, StartOptions } from "../../server/boot/start.ts";
import { dataDirFlag, dataDirOf } from "./flags.ts";

const LEVELS = ["debug", "info", "warning", "error"] as const;
const DEFAULT_PORT = Number(new URL(DEFAULT_API_SERVER).port);
const START_TIMEOUT_MS = 60_000;
const MAX_DRAIN_MS = 3_600_000;

const UNENCRYPTED =
  "other machines reach this server without encryption (--insecure-http): whoever can listen on the way reads secrets, tokens and data";

/**
 * A server that was started. The credentials are set when this start created them and the user was
 * not logged in to the server yet.
 */
interface Started {
  readonly url: string;
  readonly pid: number;
  readonly data_dir: string;
  readonly detached: boolean;
  /** The server's address for gRPC. */
  readonly grpc_url: string;
  /** The address of its gateway to containers. */
  readonly gateway_url: string;
  /** Folder of the releases that the server offers. */
  readonly releases?: string;
  /**
   * The server's address for other machines; null when they cannot reach it, or no host name is
   * known.
   */
  readonly remote_url: string | null;
  /** Config file that now contains the login; null when the start changed nothing there. */
  readonly logged_in: string | null;
  readonly client_id?: string;
  readonly client_secret?: string;
  /** Whether it serves the dashboard; absent in the background. Not in JSON. */
  readonly hasDashboard?: boolean;
  /** What other commands of this server need beside their names, for its folder. Not in JSON. */
  readonly folderFlag?: string;
}

const startFlags = {
  host: text("address to bind", { default: "127.0.0.1", placeholder: "<address>" }),
  port: int("port to bind; 0 is any free one", { default: DEFAULT_PORT }),
  grpcPort: int("port for gRPC; 0 is any free one", { defaultText: "the one after --port" }),
  gatewayPort: int("port of the gateway to containers; 0 is any free one", { defaultText: "the second one after --port" }),
  ...dataDirFlag,
  detach: bool("run in the background"),
  new: bool("begin with an empty platform; the files of the one before are set aside in the data directory, none is deleted"),
  headless: bool("serve no dashboard pages but those of logging in"),
  metricsOpen: bool("give programs on this machine /metrics without a token"),
  allowedHost: list(text("name by which other machines reach the server, as the Host header has it", { placeholder: "<host[:port]>" })),
  tlsCert: path("certificate in PEM form, with those between it and its authority", { placeholder: "<file>" }),
  tlsKey: path("private key of the certificate, without a password", { placeholder: "<file>" }),
  insecureHttp: bool("let other machines connect without encryption"),
  releases: path("folder of releases to serve, for machines to install and update from", { placeholder: "<folder>" }),
  store: list(keyValue("address of a store that is not in the data directory", { placeholder: "<name=address>" })),
  drain: duration("how long to go on serving after being told to stop, as not ready", { default: 0 }),
  logLevel: choice("what is logged", LEVELS, { default: "info" }),
};

type Input = InputOf<typeof startFlags>;

export default defineCommand({
  summary: "Start the embedded server",
  description:
    "Runs until Ctrl-C; with --detach it runs in the background, and the command returns when it answers. The first start on a data directory creates a " +
    "team, a project, an environment and credentials, and logs the CLI in with them unless a login is stored already.\n\n" +
    "Sources take settings that the code does not give, such as passwords and paths, from this server's environment when it starts: FLIGHTS_SQLITE_PATH for a " +
    "SQLite source 'flights', PG_PGHOST and PG_PGPASSWORD for a PostgreSQL source 'pg'. To change one, stop the server and start it with the variable set.\n\n" +
    "SVC_WORKER_MEMORY caps the memory of each Python worker, such as 512MiB or 4GiB; a resolver that wants more fails with MemoryError. Without it there is no cap.\n\n" +
    "SVC_WORKER_ENV names the variables of the server's environment that resolvers see beside what Python needs (PATH, HOME, LANG, TZ, TMPDIR, certificates), such as " +
    "AWS_REGION,MODEL_*: no other reaches the code of a project, when it is imported or run. What installs its requirements sees these too, and those of pip, uv, compilers and proxies.\n\n" +
    "Its state is in the data directory. A store of it can be elsewhere on this machine: --store metadata=sqlite:/srv/svc/meta.db, and so for online, offline, tiles, telemetry and metrics; " +
    "--store object=file:/srv/svc/objects. The same is said by SVC_METADATA_STORE and its like in the environment, or by server.yaml in the data directory, under `stores:`; a flag " +
    "goes before the environment, and that before the file.\n\n" +
    "With --releases, /install.sh, /install.ps1, /changelog.md, /latest/<file> and /releases/<version>/<file> of that folder, a copy of a release host, are served " +
    "to everyone who can connect, without a login; what is downloaded is verified by its signature. Bound to an address that other machines reach (--host), the " +
    "server answers them with releases only; everything else stays with this machine.\n\n" +
    "To be reached from other machines the server needs TLS, by a certificate of its own or by a proxy in front. With --tls-cert and --tls-key it speaks TLS at --host and " +
    "--port, and this machine is served without it at a free port of 127.0.0.1; a renewed certificate counts from the next start. A proxy on this machine passes on the Host " +
    "header, and says `X-Forwarded-Proto: https`. --allowed-host names the server as others do, in both cases. --insecure-http goes without TLS: whoever can listen on the way " +
    "reads secrets, tokens and data, so it is for networks such as that of containers on one machine. Calls and pages need credentials, wherever they come from.\n\n" +
    "The same services answer calls of gRPC at a port of their own (--grpc-port), with TLS where --port has it: by default the port after --port, or a free one when another program " +
    "has that; `svc config` prints it. grpc.health.v1.Health and reflection answer anyone; all other calls need the header `authorization: Bearer <token>`.\n\n" +
    "What containers and scaling groups serve is at a port of its own too (--gateway-port), by default the second one after --port: http://127.0.0.1:5759/<route>/, and " +
    "<route>.<name of the server>. It is another origin than the dashboard's.\n\n" +
    "A load balancer asks /health/ready, which answers 200 or 503; /health says that the process lives. With --drain the server goes on serving for that long after " +
    "it was told to stop, while /health/ready already answers 503.\n\n" +
    "/metrics has counters for Prometheus, with a token of the whole team that may read; with --metrics-open programs on this machine need none.\n\n" +
    "With OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318, what is recorded goes to an OpenTelemetry collector too: spans, log lines and metrics, by OTLP over HTTP. " +
    "OTEL_EXPORTER_OTLP_PROTOCOL is http/protobuf or http/json; _HEADERS, _COMPRESSION (gzip or none), _TIMEOUT, _CERTIFICATE (authorities of the collector), _CLIENT_CERTIFICATE and _CLIENT_KEY are as OpenTelemetry says, and each can be said for one signal: " +
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is that of spans, in full. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES name this server; OTEL_METRIC_EXPORT_INTERVAL is in milliseconds; " +
    "OTEL_LOGS_EXPORTER=none leaves a signal out, OTEL_SDK_DISABLED=true all. Lines have what resolvers print. Requests of the gateway, and what applications sent here, are not exported.\n\n" +
    "Applications send their spans, log lines and metrics to /v1/traces, /v1/logs and /v1/metrics by OTLP over HTTP, with a token that has the permission telemetry.write; their spans stand in one trace with those of " +
    "the queries they make, and `svc logs` finds their lines by component:app. Of a span its events and links are not kept. Metrics are series of app.counter, app.gauge and app.histogram: `svc metrics query 'sum:app.counter{name:orders} by {service}'`.\n\n" +
    "Tokens and addresses are signed with a key that is made in the data directory. SVC_SERVER_KEY_FILE names a file of keys to use instead, SVC_SERVER_KEY gives " +
    "them: 32 random bytes in base64 each, one in a line (`head -c 32 /dev/urandom | base64`). The first signs, all are taken. To change a key, put a new one behind " +
    "it and start again, then the new one in front and start again, and remove the old one an hour later.\n\n" +
    "Persons log in with an identity provider that `login.oidc` of server.yaml names, by OpenID Connect; SVC_OIDC_CLIENT_SECRET gives its client secret, unless " +
    "`client_secret_file` names a file of it.",
  examples: [
    "svc server start",
    "svc server start --detach",
    { run: "svc server start --port 0 --data-dir ./data", does: "Any free port, its own data" },
    { run: "svc server start --allowed-host svc.example.com", does: "Behind a proxy that serves https://svc.example.com" },
    {
      run: "svc server start --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allowed-host svc.example.com",
      does: "For other machines, at https://svc.example.com:5757",
    },
    { run: "svc server start --releases ./releases --host 0.0.0.0", does: "A mirror: curl -fsSL http://<host>:5757/install.sh | sh" },
  ],
  flags: startFlags,
  check({ allowedHost, drain, gatewayPort, grpcPort, insecureHttp, port, store, tlsCert, tlsKey }) {
    if ((tlsCert === undefined) !== (tlsKey === undefined)) throw new UsageError("--tls-cert and --tls-key go together");
    if (insecureHttp && tlsCert !== undefined) throw new UsageError("--insecure-http and --tls-cert exclude each other");

    const twice = store.find(([name], at) => store.slice(0, at).some(([before]) => before === name));
    if (twice) throw new UsageError(`--store names the ${twice[0]} store twice`);
    for (const host of allowedHost)
      if (!/^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(host))
        throw new UsageError(`--allowed-host ${host}: expected a host name, with its port where that is not 80 or 443`);
    if (drain > MAX_DRAIN_MS) throw new UsageError("--drain: expected an hour at most");
    for (const [flag, given] of Object.entries({ "--port": port, "--grpc-port": grpcPort ?? 0, "--gateway-port": gatewayPort ?? 0 }))
      if (given < 0 || given > 65_535) throw new UsageError(`${flag} ${given}: expected 0 to 65535`);
    if (grpcPort === port && port !== 0) throw new UsageError("--grpc-port and --port are the same: gRPC has a port of its own");
    if (gatewayPort !== undefined && gatewayPort !== 0 && (gatewayPort === port || gatewayPort === grpcPort))
      throw new UsageError("--gateway-port is another one's too: the gateway has a port of its own");
  },
  run(context, input): Promise<Started> | AsyncIterable<Started> {
    return input.detach ? startDetached(context, input) : serve(context, input);
  },
  mayEndAfter: () => false,
  view: textView(
    (started: Started, style) => {
      const lines = [`${style.bold("svc server")} at ${style.cyan(started.url)}`, `  process ${started.pid}, data in ${started.data_dir}`];
      if (started.remote_url !== null) lines.push(`  Other machines: ${started.remote_url}`);
      lines.push(`  gRPC: ${started.grpc_url}`, `  Gateway to containers: ${started.gateway_url}`);
      if (started.releases !== undefined) lines.push(`  Releases of ${started.releases}: curl -fsSL ${started.url}/install.sh | sh`);
      if (started.logged_in !== null) lines.push(`  You are logged in to it (${started.logged_in}).`);
      else if (started.client_id !== undefined) {
        lines.push(`  Another login is stored and stays. For this server: svc login --api-host ${started.url}`);
      }
      if (started.hasDashboard) lines.push("  Its dashboard: `svc dashboard`.");
      const { folderFlag: folder = "" } = started;
      lines.push(
        started.detached
          ? `  Stop it with \`svc server stop${folder}\`; \`svc server logs${folder}\` shows its log.`
          : "  Ctrl-C stops it.",
      );
      return lines.join("\n");
    },
    ({ folderFlag: _folder, hasDashboard: _dashboard, ...started }) => started,
  ),
});

async function* serve(context: Context, input: Input): AsyncIterable<Started> {
  const { clock, flags, progress, signal, surroundings } = context;
  const dataDir = dataDirOf(context, input.dataDir);
  const { start } = await import("../../server/boot/start.ts");
  const write = openServerLog(dataDir, clock);
  const options: StartOptions = {
    host: input.host,
    port: input.port,
    ...(input.grpcPort === undefined ? {} : { grpcPort: input.grpcPort }),
    ...(input.gatewayPort === undefined ? {} : { gatewayPort: input.gatewayPort }),
    dataDir,
    logLevel: input.logLevel,
    headless: input.headless,
    metricsOpen: input.metricsOpen,
    allowedHosts: input.allowedHost,
    anew: input.new,
    remote: input.insecureHttp,
    ...(input.tlsCert === undefined || input.tlsKey === undefined ? {} : { tls: { cert: input.tlsCert, key: input.tlsKey } }),
    ...(input.releases === undefined ? {} : { releases: input.releases }),
    stores: Object.fromEntries(input.store),
    drainMs: input.drain,
    home: svcHome(surroundings),
    clock,
    env: surroundings.env,
    version: buildInfo.version,
    log(line) {
      write(line);
      if (flags.json) return;
      const shown = consoleLine(line);
      if (shown !== undefined) progress.warn(shown);
    },
  };
  const server = await start(options).catch((error) => explain(context, input, error));
  if (input.insecureHttp) progress.warn(UNENCRYPTED);
  try {
    const login = await logIn(context, server.url, server.initialCredentials);
    yield {
      url: server.url,
      grpc_url: server.grpcUrl,
      gateway_url: server.gatewayUrl,
      remote_url: server.remoteUrl ?? null,
      pid: surroundings.pid,
      data_dir: dataDir,
      detached: false,
      hasDashboard: !input.headless,
      ...(options.releases ? { releases: options.releases } : {}),
      ...login,
    };
    await aborted(signal);
  } finally {
    await server.stop();
  }
}

async function startDetached(context: Context, input: Input): Promise<Started> {
  const { flags, progress, signal, surroundings } = context;
  const dataDir = dataDirOf(context, input.dataDir);
  const argv = [
    ...selfArgv(surroundings.execPath),
    "server",
    "start",
    "--json",
    ...["--host", input.host, "--port", String(input.port), "--data-dir", dataDir, "--log-level", input.logLevel],
    ...(input.grpcPort === undefined ? [] : ["--grpc-port", String(input.grpcPort)]),
    ...(input.gatewayPort === undefined ? [] : ["--gateway-port", String(input.gatewayPort)]),
    ...(input.headless ? ["--headless"] : []),
    ...(input.metricsOpen ? ["--metrics-open"] : []),
    ...(input.drain > 0 ? ["--drain", `${input.drain}ms`] : []),
    ...input.allowedHost.flatMap((name) => ["--allowed-host", name]),
    ...(input.tlsCert === undefined || input.tlsKey === undefined ? [] : ["--tls-cert", input.tlsCert, "--tls-key", input.tlsKey]),
    ...(input.insecureHttp ? ["--insecure-http"] : []),
    ...(input.new ? ["--new"] : []),
    ...(input.releases === undefined ? [] : ["--releases", input.releases]),
    ...input.store.flatMap(([name, address]) => ["--store", `${name}=${address}`]),
    ...(flags.authConfig === undefined ? [] : ["--auth-config", flags.authConfig]),
    ...(flags.profile === undefined ? [] : ["--profile", flags.profile]),
  ];
  const { line } = await progress.step("Starting the server", () =>
    startInBackground({ argv, env: surroundings.env, dataDir, timeoutMs: START_TIMEOUT_MS, signal }),
  );
  if (input.insecureHttp) progress.warn(UNENCRYPTED);
  const folderFlag = input.dataDir === undefined ? "" : ` --data-dir ${dataDir}`;
  return { ...(JSON.parse(line) as Started), detached: true, folderFlag };
}

/**
 * The command that starts this program again: the binary itself, or the runtime and the entry file
 * for a run from source.
 */
function selfArgv(execPath: string): string[] {
  return Bun.main.startsWith("/$bunfs/") || Bun.main.startsWith("B:/~BUN/") || Bun.main.startsWith("B:\\~BUN\\")
    ? [execPath]
    : [execPath, Bun.main];
}

/**
 * Stores the first credentials as the default login, or that of the profile, unless there is one.
 * When this server accepts a stored login of its previous address, that login moves to the new
 * address.
 */
async function logIn(
  { flags, http, progress, surroundings }: Context,
  url: string,
  created: InitialCredentials | undefined,
): Promise<Pick<Started, "logged_in" | "client_id" | "client_secret">> {
  const key = flags.profile ?? DEFAULT_KEY;
  const { read } = locateConfig(flags, surroundings);
  const stored = read === undefined ? undefined : (await readEntries(read)).get(key);
  if (created && stored?.clientId === undefined) {
    const file = await updateEntry(flags, surroundings, key, {
      name: surroundings.hostname,
      clientId: created.clientId,
      clientSecret: created.clientSecret,
      apiServer: url,
      activeEnvironment: created.environmentId,
    });
    return { logged_in: file, client_id: created.clientId };
  }
  if (created) return { logged_in: null, client_id: created.clientId, client_secret: created.clientSecret };
  const { clientId, apiServer } = stored ?? {};
  const moved = apiServer !== undefined && apiServer !== url && isLoopback(apiServer);
  const clientSecret = moved && stored ? await secretOf(stored, surroundings, progress.warn) : undefined;
  if (clientId === undefined || clientSecret === undefined) return { logged_in: null };
  const taken = await http.checkCredentials(clientId, clientSecret, url).then(
    () => true,
    () => false,
  );
  if (!taken) return { logged_in: null };
  return { logged_in: await updateEntry(flags, surroundings, key, { apiServer: url }), client_id: clientId };
}

/**
 * A line of the log for people: warnings and errors as text; undefined for others, which only the
 * file has.
 */
function consoleLine(line: string): string | undefined {
  try {
    const { level, message, ...rest } = JSON.parse(line) as Record<string, unknown>;
    if (level !== "warning" && level !== "error") return undefined;
    const facts = Object.entries(rest).filter(([key]) => key !== "time");
    return [String(message), ...facts.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)].join(
      " ",
    );
  } catch {
    return line;
  }
}

async function explain({ http }: Context, { host, port }: Input, error: unknown): Promise<never> {
  if (!(error instanceof Error) || error.name !== "StartError" || !("code" in error)) throw error;
  const code = String(error.code);
  const hint = "hint" in error && typeof error.hint === "string" ? error.hint : undefined;
  if (code === "port_in_use") {
    const url = `http://${host}:${port}`;
    const there = await http.ping(url).catch(() => undefined);
    if (there) {
      throw new CliError(`an svc server (${there.version || "of unknown version"}) runs at ${url} already`, {
        code,
        hint: "Use it, stop it with `svc server stop`, or choose another port with --port.",
      });
    }
  }
  throw new CliError(error.message, { code, hint });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
