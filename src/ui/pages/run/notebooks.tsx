import { useSignal } from "@preact/signals";
import type { NotebookJson } from "../../../../gen/svc/v1/notebook_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { usePages } from "../../api/pages.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { kernelState } from "./notebook-text.ts";

const COLUMNS: readonly Column<NotebookJson>[] = [
  {
    name: "title",
    title: "Notebook",
    width: "18rem",
    cell: ({ id = "", title = "" }) => (
      <a class="name" href={href("notebook", { id })}>
        {escapeControls(title)}
      </a>
    ),
  },
  { name: "kernel", title: "Kernel", width: "8rem", cell: ({ kernel }) => <KernelState of={kernel} /> },
  { name: "cells", title: "Cells", width: "6rem", isNumber: true, cell: ({ cellCount = 0 }) => cellCount },
  { name: "updated", title: "Updated", width: "11rem", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  { name: "description", title: "Description", width: "20rem", cell: ({ description = "" }) => escapeControls(description) },
];

/** The notebooks of the environment. */
export default function Notebooks() {
  const command = useCommand();
  const pages = usePages(
    "NotebookService/ListNotebooks",
    {},
    environmentScope.value,
    ({ notebooks = [] }) => notebooks,
    ({ id = "" }) => id,
  );
  useLive(["notebooks"], pages.first.reload);
  return (
    <Page title="Notebooks" command={command("notebook", "list")} actions={<CreateNotebook />}>
      <Paged
        of={pages}
        things="notebooks"
        empty={
          <Empty command={command("notebook", "create", "--title", "TITLE")}>
            There are none yet. A notebook runs cells of Python with the source, the packages and the variables of what is deployed.
          </Empty>
        }
      >
        {(rows) => <WindowTable label="Notebooks" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />}
      </Paged>
    </Page>
  );
}

function KernelState({ of }: { readonly of: NotebookJson["kernel"] }) {
  const { word, tone } = kernelState(of);
  return <Status tone={tone}>{word}</Status>;
}

function CreateNotebook() {
  const command = useCommand();
  const title = useSignal("");
  const act = async () => {
    const { notebook } = await call("NotebookService/CreateNotebook", { title: title.value.trim() }, environmentScope.value);
    if (notebook?.id) go(href("notebook", { id: notebook.id }));
    return `Notebook ${notebook?.title ?? ""} was made.`;
  };
  return (
    <Action verb="Create" question="Create a notebook?" permission="deploy" act={act}>
      <label class="field">
        <span>Title</span>
        <input value={title} maxLength={200} autocomplete="off" onInput={({ currentTarget }) => (title.value = currentTarget.value)} />
      </label>
      <p class="dim">Without one it is called "Untitled".</p>
      <Command line={title.value === "" ? command("notebook", "create") : command("notebook", "create", "--title", title.value)} />
    </Action>
  );
}
