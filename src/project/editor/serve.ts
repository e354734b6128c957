/** The language server on the process's streams. */

import type { Context } from "../../context/context.ts";
import type { Progress } from "../../context/prompt.ts";
import { loadProject } from "../load.ts";
import { FrameReader, frame } from "./framing.ts";
import { type Analysis, LanguageServer } from "./language-server.ts";

/**
 * Serves an editor on the process's streams, until the editor ends it or goes away. Resolves with
 * whether it ended in order.
 * @param analyze imports the project of a context, without output; rejects when the context's
 *    signal is aborted
 */
export async function serveEditor(context: Context, version: string, analyze: (context: Context) => Promise<Analysis>): Promise<boolean> {
  const { flags, io, machine, progress, signal } = context;
  let writing: Promise<void> = Promise.resolve();
  const server = new LanguageServer({
    version,
    dir: flags.dir,
    environment: flags.environment ?? (await context.settings()).environment.value,
    send: (message) => {
      writing = writing.then(() => io.writeOut(frame(message)));
      writing.catch(() => undefined);
    },
    openProject: (dir) => loadProject(dir, context.surroundings),
    readText: (path) => machine.readText(path),
    analyze: (project, stopped) =>
      analyze(
        Object.create(context, {
          progress: { value: quiet(progress) },
          project: { value: async () => project },
          signal: { value: AbortSignal.any([signal, stopped]) },
        }) as Context,
      ),
    log: (text) => progress.verbose(text),
  });
  const reader = new FrameReader();
  try {
    for (;;) {
      const bytes = await io.readChunk();
      if (bytes === undefined) return false;
      for (const message of reader.push(bytes)) {
        await server.receive(message);
        await writing;
        if (server.ended) return server.ended.inOrder;
      }
    }
  } finally {
    await server.stop();
  }
}

/** Progress without output: an editor shows its own. */
function quiet(progress: Progress): Progress {
  return { ...progress, step: (_, work) => work(() => undefined), note: () => undefined };
}
