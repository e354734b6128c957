import { useSignal } from "@preact/signals";
import type { CallFunctionResponseJson, FunctionVersionJson } from "../../../../gen/svc/v1/function_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { CallError, call } from "../../api/call.ts";
import { useCommand } from "../../app/command.ts";
import { href, scope } from "../../app/place.ts";
import { useMay } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Command } from "../../parts/command.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Failed } from "../../parts/failed.tsx";
import { argumentsProblem, exampleArguments, resultLines } from "./function-arguments.ts";

/** Calls a version of a function with arguments, and shows what it returns. */
export function FunctionCall({ version }: { readonly version: FunctionVersionJson }) {
  const command = useCommand();
  const { function: of = {}, live = false, name = "", version: number = 0 } = version;
  const text = useSignal(exampleArguments(of.parameters ?? []));
  const answer = useSignal<CallFunctionResponseJson | undefined>(undefined);
  const error = useSignal<CallError | undefined>(undefined);
  const isBusy = useSignal(false);
  if (!useMay("query.online")) return null;
  const problem = argumentsProblem(text.value);
  const run = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    answer.value = error.value = undefined;
    try {
      const request = { name, version: live ? 0 : number, arguments: { columnsJson: text.value } };
      answer.value = await call("FunctionService/CallFunction", request, scope.value);
    } catch (thrown) {
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <h2>Call it</h2>
      <Command
        line={command(
          "compute",
          "call",
          "--name",
          name,
          ...(live ? [] : ["--version", String(number)]),
          "-i",
          "ARGUMENTS.arrow",
          "-o",
          "RESULT.arrow",
        )}
      />
      <form onSubmit={(event) => void run(event)}>
        <label class="field">
          <span>Arguments: a list for each parameter, with a value for each row</span>
          <textarea
            class="cell-source"
            rows={4}
            maxLength={1_000_000}
            spellcheck={false}
            aria-invalid={problem !== undefined}
            value={text}
            onInput={({ currentTarget }) => (text.value = currentTarget.value)}
          />
        </label>
        {problem !== undefined && <p class="bad">{visibleLines(problem)}</p>}
        <button type="submit" class="primary" disabled={isBusy.value || problem !== undefined}>
          Call
        </button>
      </form>
      <div role="status" class="after-lines">
        {isBusy.value && <p class="dim">It runs.</p>}
        {answer.value && <Answer answer={answer.value} />}
      </div>
      {error.value && <Failed error={error.value} />}
    </>
  );
}

function Answer({ answer: { error, ranMs = 0, result, traceId = "", version = 0 } }: { readonly answer: CallFunctionResponseJson }) {
  return (
    <>
      <p>
        Version {version} ran for <Duration ms={Number(ranMs)} />:{" "}
        <a href={href("trace", { id: traceId }, { deployment: "" })}>trace {escapeControls(traceId)}</a>
      </p>
      {error ? (
        <>
          <Failed error={new CallError("unknown", error.message ?? "It failed.")} />
          {error.exception?.stacktrace && <pre class="block">{visibleLines(error.exception.stacktrace.trimEnd())}</pre>}
        </>
      ) : (
        <Code text={resultLines(result?.columnsJson ?? "{}")} />
      )}
    </>
  );
}
