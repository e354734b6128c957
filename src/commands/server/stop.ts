import { defineCommand } from "../../cli/command.ts";
import { isHeld, readLocalServer, terminate } from "../../config/local-server.ts";
import { CliError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { dataDirFlag, dataDirOf } from "./flags.ts";

/** Longest wait for the server to stop: longer than it waits for running requests. */
const STOP_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

/** The stopped server; the process is null when none ran. */
interface Stopped {
  readonly stopped: boolean;
  readonly pid: number | null;
  readonly data_dir: string;
}

export default defineCommand({
  summary: "Stop the embedded server",
  description:
    "It drains (`svc server start --drain`) and lets running requests end; the command returns when the server has let go of its data.",
  examples: ["svc server stop"],
  flags: dataDirFlag,
  async run(context, { dataDir }): Promise<Stopped> {
    const { clock, http, progress, signal } = context;
    const folder = dataDirOf(context, dataDir);
    if (!(await isHeld(folder))) return { stopped: false, pid: null, data_dir: folder };
    const note = await readLocalServer(folder);
    if (!note) {
      throw new CliError(`a server that is just starting or stopping holds ${folder}`, {
        code: "server_busy",
        hint: "Try again in a moment.",
      });
    }
    const health = await http.ping(note.url).catch(() => undefined);
    if (health?.pid !== undefined && health.pid !== note.pid) {
      throw new CliError(
        `server.json in ${folder} names process ${note.pid}, and the server at ${note.url} is process ${health.pid}: nothing was ended`,
        {
          code: "wrong_process",
          hint: `The note was changed. If process ${health.pid} is the server that is to end, end it yourself: kill ${health.pid}`,
        },
      );
    }
    if (!health) {
      throw new CliError(`the server at ${note.url} holds ${folder} but does not answer, so its process is not certain`, {
        code: "not_answering",
        hint: `If process ${note.pid} is an svc server, end it yourself: kill ${note.pid}`,
      });
    }
    if (!terminate(note.pid)) {
      throw new CliError(`process ${note.pid}, the server at ${note.url}, belongs to another user or another machine`, {
        code: "not_permitted",
      });
    }
    await progress.step("Stopping the server", async () => {
      const timeoutMs = note.drainMs + STOP_TIMEOUT_MS;
      const until = clock.now() + timeoutMs;
      while (await isHeld(folder)) {
        if (clock.now() > until) {
          throw new CliError(`process ${note.pid} has not ended within ${timeoutMs / 1000} s`, {
            code: "stop_timeout",
            hint: "`svc server logs` shows what it is doing.",
          });
        }
        await clock.sleep(POLL_MS, signal);
      }
    });
    return { stopped: true, pid: note.pid, data_dir: folder };
  },
  view: textView(({ stopped, pid, data_dir }: Stopped) =>
    stopped ? `Stopped the server (process ${pid}).` : `No server runs on ${data_dir}.`,
  ),
});
