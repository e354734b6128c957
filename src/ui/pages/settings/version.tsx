import type { ProgramPackageJson } from "../../../../gen/svc/v1/health_pb.ts";
import { addressOf } from "../../../domain/addresses.ts";
import { useAnswer } from "../../api/load.ts";
import { environmentScope } from "../../app/who.ts";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";

const COLUMNS: readonly Column<ProgramPackageJson>[] = [
  { name: "name", title: "Package", width: "16rem", cell: ({ name }) => <code>{name}</code> },
  { name: "version", title: "Version", width: "8rem", cell: ({ version }) => version },
  { name: "license", title: "Licence", width: "16rem", cell: ({ license = "" }) => license || "none is stated" },
];

/** The program that the server runs, and the packages in it. */
export default function Version() {
  const answer = useAnswer("HealthService/GetVersion", {}, environmentScope.value);
  return (
    <Loading of={answer} lines={8}>
      {({ buildTime = "", hash, packages = [], platform, version }) => (
        <>
          <Facts
            facts={[
              ["Version", version],
              ["Platform", platform],
              ["Commit", <code key="">{hash}</code>],
              ["Built", Number.isNaN(Date.parse(buildTime)) ? buildTime : <Time key="" at={buildTime} />],
              ["Licence", "Apache-2.0"],
            ]}
          />
          <p>
            <a href={addressOf("gallery", {})}>The parts of these pages</a>, in all their states.
          </p>
          <h2>Packages in it</h2>
          <p>With the texts of their licences:</p>
          <Command line="svc version --licenses" />
          <WindowTable label="Packages" columns={COLUMNS} rows={packages} keyOf={({ name = "", version: of = "" }) => `${name} ${of}`} />
        </>
      )}
    </Loading>
  );
}
