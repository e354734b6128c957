/** Uploads of datasets to a test's server, the way the command line does. */

import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import type { TestServer } from "../../harness/running-server.ts";

/** Uploads files of text as a revision of a dataset, and gives the revision's id. */
export async function uploadDataset(server: TestServer, datasetName: string, files: Readonly<Record<string, string>>): Promise<string> {
  const service = server.client(DatasetService);
  const digest = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const contents = Object.entries(files).map(([name, text]) => ({ name, content: new TextEncoder().encode(text) }));
  const given = contents.map(({ name, content }) => ({ name, bytes: BigInt(content.length), sha256: digest(content) }));
  const { partBytes, uploadId } = await service.createDatasetUpload({ datasetName, files: given });
  const size = Number(partBytes);
  for (const [file, { content }] of contents.entries())
    for (let part = 0; part * size < content.length; part++) {
      const body = content.slice(part * size, (part + 1) * size);
      const { uris } = await service.getDatasetUploadUris({ uploadId, parts: [{ file, part, sha256: digest(body) }] });
      const response = await fetch(new URL(uris[0]?.url ?? "", server.url), { method: "PUT", body });
      if (!response.ok) throw new Error(`a part was refused: ${response.status}`);
    }
  return (await service.finalizeDatasetUpload({ uploadId })).revision?.id ?? "";
}
