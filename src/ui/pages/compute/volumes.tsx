import type { VolumeJson } from "../../../../gen/svc/v1/volume_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { VolumeUsers } from "./volume-users.tsx";

const COLUMNS: readonly Column<VolumeJson>[] = [
  {
    name: "name",
    title: "Volume",
    width: "18rem",
    cell: ({ name = "" }) => (
      <a class="name" href={href("volume", { name })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "size", title: "Size", width: "8rem", isNumber: true, cell: ({ name = "" }) => <Size name={name} /> },
  { name: "users", title: "Used by", width: "26rem", cell: ({ name = "" }) => <Users name={name} /> },
  { name: "created", title: "Created", width: "12rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** Folders that outlive containers; those in sight are measured. */
export default function Volumes() {
  const command = useCommand();
  const answer = useAnswer("VolumeService/ListVolumes", {}, environmentScope.value);
  useLive(["runs"], answer.reload);
  return (
    <Page title="Volumes" command={command("volume", "list")}>
      <Loading of={answer}>
        {({ volumes: rows = [] }) =>
          rows.length === 0 ? (
            <Empty command={command("volume", "create", "--name", "NAME")}>
              There are none yet. A volume outlives the containers that have it.
            </Empty>
          ) : (
            <WindowTable label="Volumes" columns={COLUMNS} rows={rows} keyOf={({ id = "" }) => id} />
          )
        }
      </Loading>
    </Page>
  );
}

/** A volume as it is measured; the cells of a row share the answer. */
function useMeasured(name: string): VolumeJson {
  return useAnswer("VolumeService/GetVolume", { name }, environmentScope.value).data?.volume ?? {};
}

function Size({ name }: { readonly name: string }) {
  const { sizeBytes } = useMeasured(name);
  return sizeBytes === undefined ? null : <Bytes count={Number(sizeBytes)} />;
}

function Users({ name }: { readonly name: string }) {
  const { usedBy = [] } = useMeasured(name);
  return usedBy.length === 0 ? null : <VolumeUsers names={usedBy} />;
}
