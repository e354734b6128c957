import { defineCommand } from "../../cli/command.ts";
import { isHeld, readLocalServer } from "../../config/local-server.ts";
import { textView } from "../../output/view.ts";
import { dataDirFlag, dataDirOf } from "./flags.ts";

/** State of the embedded server of a data directory. */
interface ServerStatus {
  /** `running`, `not_answering` (it holds its data directory but does not answer), or `stopped`. */
  readonly status: "running" | "not_answering" | "stopped";
  readonly url: string | null;
  readonly grpc_url: string | null;
  readonly gateway_url: string | null;
  readonly pid: number | null;
  readonly version: string | null;
  readonly started_at: string | null;
  readonly data_dir: string;
}

export default defineCommand({
  summary: "Show whether the embedded server runs, and where",
  description: "Exit code 1 when it does not run or does not answer.",
  examples: ["svc server status", "svc server status --json"],
  flags: dataDirFlag,
  async run(context, { dataDir }): Promise<ServerStatus> {
    const folder = dataDirOf(context, dataDir);
    const unknown = { url: null, grpc_url: null, gateway_url: null, pid: null, version: null, started_at: null };
    const nothing: ServerStatus = { status: "stopped", ...unknown, data_dir: folder };
    if (!(await isHeld(folder))) return nothing;
    const note = await readLocalServer(folder);
    if (!note) return { ...nothing, status: "not_answering" };
    const health = await context.http.ping(note.url).catch(() => undefined);
    return {
      status: health?.status === "ok" ? "running" : "not_answering",
      url: note.url,
      grpc_url: note.grpcUrl ?? null,
      gateway_url: note.gatewayUrl ?? null,
      pid: note.pid,
      version: health?.version ?? note.version,
      started_at: note.startedAt || null,
      data_dir: folder,
    };
  },
  view: textView((server: ServerStatus, style) => {
    if (server.status === "stopped") return `No server runs on ${server.data_dir}. Start one with \`svc server start\`.`;
    const state = server.status === "running" ? style.green("running") : style.red("not answering");
    return [
      `Status:  ${state}`,
      `URL:     ${server.url ?? ""}`,
      `gRPC:    ${server.grpc_url ?? ""}`,
      `Gateway: ${server.gateway_url ?? ""}`,
      `Process: ${server.pid ?? ""}`,
      `Version: ${server.version ?? ""}`,
      `Started: ${server.started_at ?? ""}`,
      `Data:    ${server.data_dir}`,
    ].join("\n");
  }),
  exitCode: ({ status }) => (status === "running" ? 0 : 1),
});
