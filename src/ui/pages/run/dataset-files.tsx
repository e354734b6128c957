import { useSignal } from "@preact/signals";
import type { DatasetFileJson, DatasetLinkJson } from "../../../../gen/svc/v1/dataset_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { CallError } from "../../api/call.ts";
import { stream } from "../../api/stream.ts";
import { environmentScope, useMay } from "../../app/who.ts";
import { Bytes } from "../../parts/bytes.tsx";
import { Failed } from "../../parts/failed.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { enumWord } from "./run-state.ts";

const COLUMNS: readonly Column<DatasetFileJson>[] = [
  { name: "name", title: "File", width: "16rem", cell: ({ name = "" }) => <code>{escapeControls(name)}</code> },
  { name: "kind", title: "Holds", width: "7rem", cell: ({ kind }) => enumWord(kind, "DATASET_FILE_KIND_") },
  { name: "rows", title: "Rows", width: "7rem", isNumber: true, cell: ({ rows = "0" }) => rows },
  { name: "bytes", title: "Size", width: "7rem", isNumber: true, cell: ({ bytes = "0" }) => <Bytes count={Number(bytes)} /> },
  { name: "sha", title: "SHA-256", width: "14rem", cell: ({ sha256 = "" }) => <code title={sha256}>{sha256}</code> },
];

interface FilesParts {
  readonly revision: string;
  readonly files: readonly DatasetFileJson[];
  readonly isReadable: boolean;
}

/** The files of a revision, and addresses to download them from, which end after some minutes. */
export function DatasetFiles({ revision, files, isReadable }: FilesParts) {
  const links = useSignal<readonly DatasetLinkJson[] | undefined>(undefined);
  const error = useSignal<CallError | undefined>(undefined);
  const may = useMay("query.offline");
  const sign = async () => {
    error.value = undefined;
    const found: DatasetLinkJson[] = [];
    try {
      const request = { revisionId: revision, includeGivens: true, includeTraces: true };
      await stream(
        "DatasetService/StreamDatasetLinks",
        request,
        environmentScope.value,
        ({ link }) => {
          if (link) found.push(link);
        },
        new AbortController().signal,
      );
      links.value = found;
    } catch (thrown) {
      error.value = thrown instanceof CallError ? thrown : new CallError("unknown", String(thrown));
    }
  };
  const byName = new Map(links.value?.map(({ file, url = "" }) => [file?.name ?? "", url]));
  const download: Column<DatasetFileJson> = {
    name: "link",
    title: "Download",
    width: "8rem",
    cell: ({ name = "" }) => {
      const url = byName.get(name);
      return url ? (
        <a href={url} download={name} rel="noreferrer">
          Download
        </a>
      ) : null;
    },
  };
  if (files.length === 0) return <p class="dim">It has no files that can be read.</p>;
  return (
    <>
      {isReadable && may && (
        <button type="button" onClick={() => void sign()}>
          {links.value === undefined ? "Make links to download" : "Make new links"}
        </button>
      )}
      {error.value && <Failed error={error.value} />}
      <WindowTable label="Files" columns={links.value ? [...COLUMNS, download] : COLUMNS} rows={files} keyOf={({ name = "" }) => name} />
    </>
  );
}
