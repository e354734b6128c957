import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { CellOutputJson, NotebookCellJson } from "../../../../gen/svc/v1/notebook_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import type { HtmlTable } from "../../../domain/notebook/html-table.ts";
import { MAX_SOURCE } from "../../../domain/notebook/notebook.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { scope } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Status } from "../../parts/status.tsx";
import { perform } from "./notebook-call.ts";
import { cellState, isOpenCell, shownOutput } from "./notebook-text.ts";

interface CellParts {
  readonly notebookId: string;
  readonly cell: NotebookCellJson;
  /** Its place among the cells, from 0, and that of the last one. */
  readonly place: number;
  readonly last: number;
  readonly mayChange: boolean;
  /** Paths of the outputs that are HTML, by their places; undefined where it has none yet. */
  readonly pathOf: (output: number) => string | undefined;
  readonly onDone: () => void;
}

/**
 * A cell: its source, which is kept when one leaves it, and what it gave. Shift and Enter run it.
 */
export function Cell({ notebookId, cell, place, last, mayChange, pathOf, onDone }: CellParts) {
  const { id = "", kind, source = "", executionCount, outputs = [] } = cell;
  const draft = useSignal(source);
  useEffect(() => {
    draft.value = source;
  }, [source]);
  const isCode = kind === "CELL_KIND_CODE";
  const isOpen = isOpenCell(cell);
  const name = `${isCode ? "Code" : "Text"} ${place + 1}`;
  const state = cellState(cell);
  const which = { notebookId, cellId: id };
  const save = async () => {
    if (draft.value !== source && !isOpen)
      await call("NotebookService/EditCell", { ...which, source: draft.value }, environmentScope.value);
  };
  const run = () =>
    perform(
      save().then(() => call("NotebookService/RunCell", which, scope.value)),
      onDone,
    );
  const move = (to: number) => () => perform(call("NotebookService/MoveCell", { ...which, position: to }, environmentScope.value), onDone);
  const remove = () => perform(call("NotebookService/RemoveCell", which, environmentScope.value), onDone);
  return (
    <section class="cell" aria-label={name}>
      <div class="cell-head">
        <span class="dim">{isCode ? `In [${executionCount ?? " "}]` : "Text"}</span>
        {state && <Status tone={state.tone}>{state.word}</Status>}
        {mayChange && (
          <span class="actions">
            {isCode && (
              <button type="button" disabled={isOpen} onClick={run} aria-label={`Run: ${name}`}>
                Run
              </button>
            )}
            <button type="button" class="quiet" disabled={place === 0} onClick={move(place - 1)} aria-label={`Move up: ${name}`}>
              Up
            </button>
            <button type="button" class="quiet" disabled={place === last} onClick={move(place + 1)} aria-label={`Move down: ${name}`}>
              Down
            </button>
            <button type="button" class="quiet" disabled={isOpen} onClick={remove} aria-label={`Remove: ${name}`}>
              Remove
            </button>
          </span>
        )}
      </div>
      {mayChange ? (
        <textarea
          class="cell-source"
          aria-label={`Source of ${name}`}
          spellcheck={!isCode}
          rows={Math.min(30, Math.max(2, draft.value.split("\n").length))}
          maxLength={MAX_SOURCE}
          value={draft}
          readOnly={isOpen}
          onInput={({ currentTarget }) => (draft.value = currentTarget.value)}
          onBlur={() => draft.value !== source && void perform(save(), onDone)}
          onKeyDown={(event) => {
            if (!isCode || isOpen || event.key !== "Enter" || !event.shiftKey) return;
            event.preventDefault();
            void run();
          }}
        />
      ) : isCode ? (
        <Code text={source} language="python" />
      ) : (
        <p class="cell-text">{visibleLines(source)}</p>
      )}
      {outputs.length > 0 && (
        <section class="cell-outputs" aria-label={`What ${name} gave`}>
          {outputs.map((output, at) => (
            <Output key={at} output={output} path={pathOf(at)} title={`What ${name} gave, as HTML`} />
          ))}
        </section>
      )}
    </section>
  );
}

interface OutputParts {
  readonly output: CellOutputJson;
  /** Where a frame gets its HTML. */
  readonly path: string | undefined;
  readonly title: string;
}

function Output({ output, path, title }: OutputParts) {
  const shown = shownOutput(output);
  if (shown.kind === "image") return <img src={shown.source} alt={shown.words} />;
  if (shown.kind === "table") return <OutputTable table={shown.table} />;
  if (shown.kind === "html" && path !== undefined)
    return (
      <>
        <iframe class="cell-frame" title={title} sandbox="" loading="lazy" src={path} style={{ height: `${shown.height}px` }} />
        {shown.hasScripts && <p class="dim">It has scripts, which this page does not run. Jupyter does: save the notebook as .ipynb.</p>}
      </>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <pre class={`cell-output ${shown.kind === "text" ? shown.tone : "plain"}`} tabIndex={0}>
      {shown.text}
    </pre>
  );
}

function OutputTable({ table }: { readonly table: HtmlTable }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <div class="cell-table" tabIndex={0}>
      <table>
        <tbody>
          {table.map((row, at) => (
            <tr key={at}>
              {row.map(({ text, isHead }, column) =>
                isHead && text !== "" ? <th key={column}>{escapeControls(text)}</th> : <td key={column}>{escapeControls(text)}</td>,
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
