import type { GetDatasetResponseJson } from "../../../../gen/svc/v1/dataset_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { call } from "../../api/call.ts";
import { useAnswer } from "../../api/load.ts";
import { Action } from "../../app/action.tsx";
import { useCommand } from "../../app/command.ts";
import { go, href, queried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Command } from "../../parts/command.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { DatasetColumns } from "./dataset-columns.tsx";
import { DatasetFiles } from "./dataset-files.tsx";
import { DatasetPreview } from "./dataset-preview.tsx";
import { DatasetRevisions } from "./dataset-revisions.tsx";
import { RunLink } from "./run-lists.tsx";
import { enumWord } from "./run-state.ts";
import { State } from "./state.tsx";

/** One dataset: its revisions, and one of them with columns, rows and files. */
export default function Dataset({ place }: PageProps<"dataset">) {
  const command = useCommand();
  const { name } = place.params;
  const revision = queried("revision");
  const answer = useAnswer("DatasetService/GetDataset", { dataset: revision || name }, environmentScope.value);
  const { dataset = {}, revision: shown } = answer.data ?? {};
  return (
    <Page
      title={`Dataset ${dataset.name || name}`}
      command={command("dataset", "get", revision || name)}
      actions={
        dataset.id &&
        shown?.state === "DATASET_REVISION_STATE_COMPLETE" && (
          <Archive revision={shown.id ?? ""} number={shown.number ?? 0} onDone={answer.reload} />
        )
      }
    >
      <Loading of={answer} lines={8}>
        {(data) => <Content data={data} />}
      </Loading>
    </Page>
  );
}

function Content({ data }: { readonly data: GetDatasetResponseJson }) {
  const command = useCommand();
  const { columns = [], dataset = {}, files = [], revision, revisions = [] } = data;
  const { bytes = "0", completedAt, createdBy = "", id = "", number = 0, origin, originId = "", rows = "0", state } = revision ?? {};
  const isReadable = state === "DATASET_REVISION_STATE_COMPLETE";
  return (
    <>
      <Facts
        facts={[
          ["Id", <code key="">{dataset.id}</code>],
          ["Revision", revision && `${number}, ${id}`],
          ["State", <State key="" of={state} prefix="DATASET_REVISION_STATE_" />],
          ["Rows", columns.length > 0 && rows],
          ["Size", <Bytes key="" count={Number(bytes)} />],
          ["Made by", enumWord(origin, "DATASET_ORIGIN_")],
          ["Of", originId.startsWith("ofq_") ? <RunLink id={originId} /> : escapeControls(originId)],
          ["Client", createdBy !== "" && <code>{escapeControls(createdBy)}</code>],
          ["Completed", completedAt && <Time at={completedAt} />],
        ]}
      />
      {isReadable && <Command line={command("dataset", "download", id)} />}
      <Tabs
        label="Of the dataset"
        tabs={[
          { name: "columns", title: "Columns", content: () => <DatasetColumns columns={columns} rows={Number(rows)} /> },
          { name: "rows", title: "First rows", content: () => isReadable && columns.length > 0 && <DatasetPreview revision={id} /> },
          { name: "files", title: "Files", content: () => <DatasetFiles revision={id} files={files} isReadable={isReadable} /> },
          {
            name: "revisions",
            title: "Revisions",
            content: () => <DatasetRevisions revisions={revisions} dataset={dataset.name || dataset.id || ""} />,
          },
        ]}
      />
    </>
  );
}

function Archive({ revision, number, onDone }: { readonly revision: string; readonly number: number; readonly onDone: () => void }) {
  const archive = async () => {
    await call("DatasetService/ArchiveDatasetRevision", { revisionId: revision }, environmentScope.value);
    if (queried("revision") !== "") go(href("datasets", {}));
    return `Revision ${number} is archived.`;
  };
  return (
    <Action
      verb="Archive"
      question={`Archive revision ${number}?`}
      permission="data.write"
      typed={revision}
      words={["dataset", "archive", revision]}
      act={archive}
      onDone={onDone}
    >
      <p>From then on nobody can read it. Its files are removed some days later.</p>
    </Action>
  );
}
