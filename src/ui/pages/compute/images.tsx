import type { ImageBuildJson } from "../../../../gen/svc/v1/image_build_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { href } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import { type Column, WindowTable } from "../../parts/window-table.tsx";
import { State } from "../run/state.tsx";

const LIMIT = 500;

const COLUMNS: readonly Column<ImageBuildJson>[] = [
  {
    name: "name",
    title: "Build",
    width: "22rem",
    cell: ({ name = "" }) => (
      <a class="name" href={href("image", { name })}>
        {escapeControls(name)}
      </a>
    ),
  },
  { name: "phase", title: "Phase", width: "8rem", cell: ({ phase }) => <State of={phase} prefix="IMAGE_BUILD_PHASE_" /> },
  { name: "images", title: "Images", width: "15rem", cell: ({ imageDestinations = [] }) => escapeControls(imageDestinations.join(", ")) },
  { name: "venv", title: "Venv", width: "9rem", cell: ({ venv = "" }) => escapeControls(venv) },
  { name: "created", title: "Created", width: "9.5rem", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The latest builds of environments and images. */
export default function Builds() {
  const command = useCommand();
  const answer = useAnswer("ImageBuildService/ListImageBuilds", { limit: LIMIT }, environmentScope.value);
  useLive(["deployments"], answer.reload);
  return (
    <Page title="Builds" command={command("imgbuild", "list")}>
      <Loading of={answer} lines={8}>
        {({ builds = [], more = false }) =>
          builds.length === 0 ? (
            <Empty command="svc apply">There are none yet. A deployment has its virtual environment built.</Empty>
          ) : (
            <>
              <WindowTable label="Builds" columns={COLUMNS} rows={builds} keyOf={({ name = "" }) => name} />
              {more && <p class="dim">The latest {LIMIT}; the command shows earlier ones with --offset.</p>}
            </>
          )
        }
      </Loading>
    </Page>
  );
}
