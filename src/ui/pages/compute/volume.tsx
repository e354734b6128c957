import type { VolumeJson } from "../../../../gen/svc/v1/volume_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { go, href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { VolumeUsers } from "./volume-users.tsx";

/** One volume: what it holds, and what has it. */
export default function Volume({ place }: PageProps<"volume">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("VolumeService/GetVolume", { name }, environmentScope.value);
  useLive(["runs"], answer.reload);
  const { volume } = answer.data ?? {};
  return (
    <Page
      title={`Volume ${volume?.name ?? name}`}
      command={command("volume", "get", "--name", volume?.name ?? name)}
      actions={volume && <Delete volume={volume} />}
    >
      <Loading of={answer}>{({ volume: shown = {} }) => <VolumeFacts volume={shown} />}</Loading>
    </Page>
  );
}

function Delete({ volume: { name = "", usedBy = [] } }: { readonly volume: VolumeJson }) {
  const act = async () => {
    await call("VolumeService/DeleteVolume", { name }, environmentScope.value);
    go(href("volumes", {}));
    return `${name} was deleted.`;
  };
  return (
    <Action
      verb="Delete"
      question={`Delete ${escapeControls(name)} with its files?`}
      permission="containers.write"
      typed={name}
      words={["volume", "delete", "--name", name]}
      act={act}
    >
      <p>{usedBy.length > 0 ? "It is refused as long as containers have it." : "What is in it is gone for good."}</p>
    </Action>
  );
}

function VolumeFacts({ volume: { createdAt, id = "", node = "", sizeBytes, usedBy = [] } }: { readonly volume: VolumeJson }) {
  return (
    <Facts
      facts={[
        ["Size", sizeBytes === undefined ? "not known here: another node has it" : <Bytes count={Number(sizeBytes)} />],
        ["Used by", usedBy.length > 0 ? <VolumeUsers names={usedBy} /> : "no container that runs"],
        ["Id", <code key="">{escapeControls(id)}</code>],
        ["Created", <Time key="" at={createdAt} />],
        ["Node", node],
      ]}
    />
  );
}
