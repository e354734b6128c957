import { useSignal } from "@preact/signals";
import { queried, setQueried } from "../../app/place.ts";
import { toast } from "../../app/toasts.tsx";
import { ColumnChoice } from "../../parts/column-choice.tsx";
import { Combo } from "../../parts/combo.tsx";
import { Command } from "../../parts/command.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Range } from "../../parts/range.tsx";
import { SearchBox } from "../../parts/search-box.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { type Column, sorted, WindowTable } from "../../parts/window-table.tsx";
import type { Example } from "./example.ts";

function Buttons() {
  const isAsking = useSignal<"" | "plain" | "typed">("");
  return (
    <p class="actions">
      <button type="button" onClick={() => toast("It was done.")}>
        Say it was done
      </button>
      <button type="button" class="primary" onClick={() => (isAsking.value = "plain")}>
        Ask
      </button>
      <button type="button" class="danger" onClick={() => (isAsking.value = "typed")}>
        Delete
      </button>
      <button type="button" disabled>
        Not now
      </button>
      {isAsking.value !== "" && (
        <Confirm
          title={isAsking.value === "typed" ? "Delete user.name?" : "Make dpl_1 live?"}
          verb={isAsking.value === "typed" ? "Delete" : "Promote"}
          typed={isAsking.value === "typed" ? "user.name" : undefined}
          act={async () => toast("It was done.")}
          onClose={() => (isAsking.value = "")}
        >
          <p>What happens then is said here.</p>
        </Confirm>
      )}
    </p>
  );
}

interface Row {
  readonly name: string;
  readonly count: number;
}
const COLUMNS: readonly Column<Row>[] = [
  { name: "name", title: "Name", cell: ({ name }) => <code>{name}</code>, sort: ({ name }) => name },
  { name: "count", title: "Requests", isNumber: true, width: "10rem", cell: ({ count }) => count, sort: ({ count }) => count },
];
const FEW: readonly Row[] = ["a", "b", "c"].map((name, at) => ({ name, count: at * 37 }));
const MANY: readonly Row[] = Array.from({ length: 10_000 }, (_, at) => ({ name: `row_${at}`, count: (at * 7919) % 10_007 }));

function Table({ label, rows }: { readonly label: string; readonly rows: readonly Row[] }) {
  const sort = useSignal("name");
  return (
    <WindowTable
      label={label}
      columns={COLUMNS}
      rows={sorted(rows, COLUMNS, sort.value)}
      keyOf={({ name }) => name}
      sort={sort.value}
      onSort={(next) => (sort.value = next)}
    />
  );
}

/** What is used by hand. */
export const CONTROLS: readonly Example[] = [
  ["Buttons, dialogs, toasts", () => <Buttons />],
  ["Command", () => <Command line="svc query --in user.id=1 --out user.name" />],
  [
    "Search",
    () => (
      <SearchBox label="Search" value={queried("q")} onSearch={(q) => setQueried({ q })} placeholder="name, owner: tag:" found="3 of 10" />
    ),
  ],
  [
    "Search with a mistake",
    () => (
      <SearchBox
        label="Wrong search"
        value="level:erro OR"
        onSearch={() => undefined}
        problem={{ at: 11, message: "OR needs something after it." }}
      />
    ),
  ],
  [
    "Combo",
    () => (
      <Combo
        label="Feature"
        value=""
        options={["user.id", "user.name", "user.age", "transfer.amount"]}
        onChoose={() => undefined}
        placeholder="user.name"
      />
    ),
  ],
  ["Range", () => <Range />],
  [
    "Choice of columns",
    () => <ColumnChoice columns={COLUMNS} hidden={queried("without")} onChoose={(without) => setQueried({ without })} />,
  ],
  [
    "Tabs",
    () => (
      <Tabs
        label="Example"
        tabs={[
          { name: "one", title: "One", content: () => <p>The first.</p> },
          { name: "two", title: "Two", content: () => <p>The second.</p> },
        ]}
      />
    ),
  ],
  ["Table", () => <Table label="Few rows" rows={FEW} />],
  ["Table of 10,000 rows", () => <Table label="Many rows" rows={MANY} />],
  ["Pager", () => <Pager things="query runs" shown={50} hasMore onMore={() => undefined} />],
];
