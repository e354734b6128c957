import { sizeText } from "../../../domain/size.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { type KeptRecords, keptRecords } from "./kept-records.ts";

const COLUMNS: readonly Column<KeptRecords>[] = [
  { name: "what", title: "What", width: "8rem", cell: ({ what }) => what },
  { name: "age", title: "Kept for", width: "7rem", isNumber: true, cell: ({ age }) => age },
  { name: "most", title: "Up to", width: "8rem", isNumber: true, cell: ({ size }) => size },
  { name: "now", title: "Now", width: "8rem", isNumber: true, cell: ({ bytes }) => bytes !== undefined && sizeText(bytes) },
  {
    name: "settings",
    title: "Set by",
    width: "18rem",
    cell: ({ settings }) => <code>{settings.join(", ")}</code>,
  },
];

/** What is kept how long: what the server records, and the history of the environment. */
export default function Kept() {
  const command = useCommand();
  const server = useAnswer("InfraService/DescribeComponent", { component: "COMPONENT_METRICS" }, environmentScope.value);
  const environment = useAnswer("EnvironmentService/GetEnvironmentConfig", {}, environmentScope.value);
  return (
    <>
      <h2>Records of the server</h2>
      <p>
        The oldest go first, at the age or at the size, whichever comes first. Metrics are thinned: minutes are kept for two days, ten
        minutes for 30.
      </p>
      <Loading of={server} lines={5}>
        {({ spec = "{}" }) => (
          <WindowTable label="Records of the server" columns={COLUMNS} rows={keptRecords(spec)} keyOf={({ what }) => what} />
        )}
      </Loading>
      <p class="dim">The keys are those of a file, which is applied to all environments of the server:</p>
      <Command line="svc infra apply metrics --file kept.yaml" />
      <h2>History of this environment</h2>
      <Loading of={environment} lines={2}>
        {({ config: { historyMaxAge = "", historyMaxSize = "" } = {} }) => (
          <Facts
            facts={[
              ["Kept for", historyMaxAge || "ever"],
              ["Up to", historyMaxSize || "any size"],
              ["Set by", <code key="">history_max_age, history_max_size</code>],
            ]}
          />
        )}
      </Loading>
      <Command line={command("environment", "config")} />
    </>
  );
}
