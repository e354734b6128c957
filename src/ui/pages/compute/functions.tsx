import type { FunctionVersionJson } from "../../../../gen/svc/v1/function_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { usePages } from "../../api/pages.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Paged } from "../../parts/paged.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { KeptCalls } from "./kept-calls.tsx";
import { VERSION_COLUMNS } from "./version-columns.tsx";

/** A function as the empty page shows it. */
const EXAMPLE = `from svc.compute import function

@function
def fee(amount: float) -> float:
    return amount * 0.03`;

const COLUMNS: readonly Column<FunctionVersionJson>[] = [
  {
    name: "name",
    title: "Function",
    width: "16rem",
    cell: ({ name = "" }) => (
      <a class="name" href={href("function", { name })}>
        {escapeControls(name)}
      </a>
    ),
  },
  ...VERSION_COLUMNS,
];

/** The versions of functions that callers run, and the latest calls that were kept. */
export default function Functions() {
  const command = useCommand();
  const pages = usePages(
    "FunctionService/ListFunctions",
    {},
    environmentScope.value,
    ({ functions = [] }) => functions,
    ({ id = "" }) => id,
  );
  useLive(["deployments"], pages.first.reload);
  return (
    <Page title="Functions" command={command("compute", "list")}>
      <Paged
        of={pages}
        things="versions"
        empty={
          <>
            <Empty command="svc apply">
              There are none yet. A file of the project defines a function that callers run, and the next deployment has it:
            </Empty>
            <Code text={EXAMPLE} language="python" file="fees.py" />
          </>
        }
      >
        {(rows) => <WindowTable label="Functions" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />}
      </Paged>
      <KeptCalls name="" />
    </Page>
  );
}
