import type { VolumeJson } from "../../../../gen/svc/v1/volume_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";

/** Folders that outlive containers, each measured. */
export default function Volumes() {
  const command = useCommand();
  const answer = useAnswer("VolumeService/ListVolumes", {}, environmentScope.value);
  return (
    <Page title="Volumes" command={command("volume", "list")}>
      <Loading of={answer}>
        {({ volumes: rows = [] }) =>
          rows.length === 0 ? (
            <Empty command={command("volume", "create", "--name", "NAME")}>
              There are none yet. A volume outlives the containers that have it.
            </Empty>
          ) : (
            rows.map(({ id = "", name = "" }) => <OneVolume key={id} {...{ id, name }} />)
          )
        }
      </Loading>
    </Page>
  );
}

function OneVolume({ id, name }: { readonly id: string; readonly name: string }) {
  const answer = useAnswer("VolumeService/GetVolume", { name: id }, environmentScope.value);
  return (
    <>
      <h2>{escapeControls(name)}</h2>
      <Loading of={answer} lines={2}>
        {({ volume = {} }) => <VolumeFacts volume={volume} />}
      </Loading>
    </>
  );
}

function VolumeFacts({ volume: { createdAt, sizeBytes, usedBy = [] } }: { readonly volume: VolumeJson }) {
  return (
    <Facts
      facts={[
        ["Size", sizeBytes !== undefined && <Bytes count={Number(sizeBytes)} />],
        ["Used by", usedBy.length > 0 && escapeControls(usedBy.join(", "))],
        ["Created", <Time key="" at={createdAt} />],
      ]}
    />
  );
}
