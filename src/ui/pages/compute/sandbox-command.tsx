import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { visibleLines } from "../../../domain/visible.ts";
import { CallError, call } from "../../api/call.ts";
import { beginProgram, type RunningProgram } from "../../api/program.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope, useMay } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Status } from "../../parts/status.tsx";
import { type Output, withOutput } from "./command-output.ts";

const TIMEOUT_SECONDS = 60;
/** Milliseconds in which output is gathered before it is drawn. */
const GATHER_MS = 50;

/** Runs a command in a sandbox, by its shell, and shows what it prints. */
export function SandboxCommand({ id, name }: { readonly id: string; readonly name: string }) {
  const command = useCommand();
  const line = useSignal("");
  const output = useSignal<Output | undefined>(undefined);
  const exitCode = useSignal<number | undefined>(undefined);
  const error = useSignal<CallError | undefined>(undefined);
  const running = useSignal<RunningProgram | undefined>(undefined);
  const isAsking = useSignal(false);
  const isHere = useRef(true);
  useEffect(
    () => () => {
      isHere.current = false;
      running.peek()?.end();
    },
    [],
  );
  if (!useMay("containers.write")) return null;
  const words = ["/bin/sh", "-c", line.value];
  const run = async () => {
    let gathered: Output = { pieces: [], cut: 0 };
    let drawing = 0;
    const draw = () => {
      clearTimeout(drawing);
      drawing = 0;
      output.value = gathered;
    };
    isAsking.value = true;
    output.value = exitCode.value = error.value = undefined;
    try {
      const asked = { sandbox: id, command: words, timeoutSeconds: TIMEOUT_SECONDS };
      const { path = "", ticket = "" } = await call("SandboxService/OpenExec", asked, environmentScope.value);
      if (!isHere.current) return;
      running.value = beginProgram(path, ticket, (stream, text) => {
        gathered = withOutput(gathered, stream, text);
        drawing ||= window.setTimeout(draw, GATHER_MS);
      });
      isAsking.value = false;
      exitCode.value = await running.value.ended;
    } catch (thrown) {
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      draw();
      isAsking.value = false;
      running.value = undefined;
    }
  };
  return (
    <>
      <h2>Run a command</h2>
      <form
        class="one-line"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <input
          class="name"
          aria-label="Command"
          placeholder="ls -l /"
          required
          maxLength={10_000}
          autocomplete="off"
          spellcheck={false}
          value={line}
          onInput={({ currentTarget }) => (line.value = currentTarget.value)}
        />
        {running.value ? (
          <button type="button" onClick={() => running.value?.end()}>
            End it
          </button>
        ) : (
          <button type="submit" class="primary" disabled={isAsking.value}>
            Run
          </button>
        )}
      </form>
      <Command line={command("sandbox", "exec", name, "--timeout", String(TIMEOUT_SECONDS), "--", ...words)} />
      {error.value && <Failed error={error.value} />}
      {output.value && <Shown output={output.value} />}
      <p role="status">
        {running.value && <Status tone="busy">running</Status>}
        {exitCode.value !== undefined && <Status tone={exitCode.value === 0 ? "good" : "bad"}>{exitText(exitCode.value)}</Status>}
      </p>
    </>
  );
}

function exitText(code: number): string {
  return code === 124 ? `exit code 124: it was killed after ${TIMEOUT_SECONDS} seconds` : `exit code ${code}`;
}

function Shown({ output: { cut, pieces } }: { readonly output: Output }) {
  return (
    <>
      {cut > 0 && <p class="dim">The first {cut.toLocaleString("en")} characters are not shown.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="command-output" tabIndex={0} aria-label="Output">
        <pre class="block">
          {pieces.map(({ stream, text }, at) => (
            <span key={at} class={stream === "stderr" ? "bad" : undefined}>
              {visibleLines(text)}
            </span>
          ))}
        </pre>
      </section>
    </>
  );
}
