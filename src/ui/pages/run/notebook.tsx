import type { GetNotebookResponseJson, NotebookJson } from "../../../../gen/svc/v1/notebook_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope, useMay } from "../../app/who.ts";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { saveText } from "../../parts/save-text.ts";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { perform } from "./notebook-call.ts";
import { Cell } from "./notebook-cell.tsx";
import { isAlive, kernelState, shownOutput } from "./notebook-text.ts";

/** One notebook: its cells with what they gave, and its kernel. */
export default function Notebook({ place }: PageProps<"notebook">) {
  const command = useCommand();
  const { id } = place.params;
  const answer = useAnswer("NotebookService/GetNotebook", { id, includeOutputs: true }, environmentScope.value);
  const hasHtml = answer.data?.cells?.some(({ outputs = [] }) => outputs.some((output) => shownOutput(output).kind === "html")) ?? false;
  const html = useAnswer("NotebookService/ListHtmlOutputs", hasHtml ? { notebookId: id } : undefined, environmentScope.value);
  const paths = new Map((html.data?.outputs ?? []).map(({ cellId = "", index = 0, path }) => [`${cellId} ${index}`, path]));
  const look = () => {
    answer.reload();
    html.reload();
  };
  useLive(["notebooks"], look);
  const { notebook } = answer.data ?? {};
  return (
    <Page
      title={`Notebook ${notebook?.title ?? id}`}
      command={command("notebook", "preview", id)}
      actions={notebook && <NotebookActions notebook={notebook} onDone={answer.reload} />}
    >
      <Loading of={answer} lines={8}>
        {(found) => <Cells found={found} pathOf={(cell, output) => paths.get(`${cell} ${output}`)} onDone={look} />}
      </Loading>
    </Page>
  );
}

interface CellsParts {
  readonly found: GetNotebookResponseJson;
  /** Path of the HTML of a cell's output. */
  readonly pathOf: (cellId: string, output: number) => string | undefined;
  readonly onDone: () => void;
}

function Cells({ found: { notebook = {}, cells = [] }, pathOf, onDone }: CellsParts) {
  const mayChange = useMay("deploy");
  const { description = "", id = "", kernel, updatedAt } = notebook;
  const { word, tone } = kernelState(kernel);
  const add = (kind: "CELL_KIND_CODE" | "CELL_KIND_MARKDOWN") => () =>
    perform(call("NotebookService/AddCell", { notebookId: id, kind, source: "" }, environmentScope.value), onDone);
  return (
    <>
      <Facts
        facts={[
          [
            "Kernel",
            <Status key="" tone={tone}>
              {word}
            </Status>,
          ],
          ["Deployment", isAlive(kernel) && <DeploymentLink id={kernel?.deploymentId ?? ""} />],
          ["Branch", isAlive(kernel) && escapeControls(kernel?.branch ?? "")],
          ["It ended", kernel?.state === "KERNEL_STATE_ENDED" && visibleLines(`the kernel ${kernel.end ?? ""}`)],
          ["Changed", <Time key="" at={updatedAt} />],
        ]}
      />
      {description !== "" && <p>{visibleLines(description)}</p>}
      <h2>Cells</h2>
      {cells.length === 0 && <p class="dim">It has no cells yet.</p>}
      {cells.map((cell, place) => (
        <Cell
          key={cell.id}
          notebookId={id}
          cell={cell}
          place={place}
          last={cells.length - 1}
          mayChange={mayChange}
          pathOf={(output) => pathOf(cell.id ?? "", output)}
          onDone={onDone}
        />
      ))}
      {mayChange && (
        <div class="actions">
          <button type="button" onClick={add("CELL_KIND_CODE")}>
            Add code
          </button>
          <button type="button" onClick={add("CELL_KIND_MARKDOWN")}>
            Add text
          </button>
        </div>
      )}
    </>
  );
}

function NotebookActions({
  notebook: { id = "", kernel, title = "" },
  onDone,
}: {
  readonly notebook: NotebookJson;
  readonly onDone: () => void;
}) {
  const mayChange = useMay("deploy");
  const named = escapeControls(title);
  const interrupt = () => perform(call("NotebookService/InterruptKernel", { notebookId: id }, environmentScope.value), onDone);
  const save = () =>
    perform(
      call("NotebookService/ExportNotebook", { id }, environmentScope.value).then(({ ipynb = "" }) =>
        saveText(`${title.replaceAll(/[^\p{L}\p{N} ._-]/gu, "_") || "notebook"}.ipynb`, "application/x-ipynb+json", ipynb),
      ),
    );
  const stop = async () => {
    await call("NotebookService/StopKernel", { notebookId: id }, environmentScope.value);
    return `The kernel of ${title} was stopped.`;
  };
  const remove = async () => {
    await call("NotebookService/DeleteNotebook", { id }, environmentScope.value);
    go(href("notebooks", {}));
    return `Notebook ${title} was deleted.`;
  };
  return (
    <>
      {mayChange && kernel?.state === "KERNEL_STATE_BUSY" && (
        <button type="button" onClick={interrupt}>
          Interrupt
        </button>
      )}
      {isAlive(kernel) && (
        <Action
          verb="Stop"
          question={`Stop the kernel of ${named}?`}
          permission="deploy"
          words={["notebook", "stop", "--name", title]}
          act={stop}
          onDone={onDone}
        >
          <p>Its names are gone with it. The cells and what they gave stay.</p>
        </Action>
      )}
      <button type="button" onClick={save}>
        Save as .ipynb
      </button>
      <Action
        verb="Delete"
        question={`Delete ${named}?`}
        permission="deploy"
        typed={title}
        words={["notebook", "delete", "--name", title]}
        act={remove}
      >
        <p>The cells and what they gave go with it.</p>
      </Action>
    </>
  );
}
