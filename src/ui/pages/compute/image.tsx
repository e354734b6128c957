import type { ImageBuildJson } from "../../../../gen/svc/v1/image_build_pb.ts";
import { escapeControls } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { useLive } from "../../app/live.ts";
import { environmentScope } from "../../app/who.ts";
import { Code } from "../../parts/code.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../../routes.ts";
import { DeploymentLink } from "../deploy/deployment-link.tsx";
import { enumWord, isGoingOn } from "../run/run-state.ts";
import { State } from "../run/state.tsx";

/** One build: its phase, and its log as far as it goes. */
export default function Build({ place }: PageProps<"image">) {
  const command = useCommand();
  const { name } = place.params;
  const answer = useAnswer("ImageBuildService/GetImageBuild", { name }, environmentScope.value);
  useLive(["deployments"], answer.reload);
  return (
    <Page title={`Build ${name}`} command={command("imgbuild", "get", name)}>
      <Loading of={answer} lines={8}>
        {({ build = {}, log = [] }) => (
          <>
            <Known build={build} />
            <h2>Log</h2>
            {log.length === 0 ? (
              <p class="dim">
                {isGoingOn(enumWord(build.phase, "IMAGE_BUILD_PHASE_")) ? "Nothing was said yet." : "Nothing was installed."}
              </p>
            ) : (
              <Code text={visibleLines(log.join("\n"))} />
            )}
          </>
        )}
      </Loading>
    </Page>
  );
}

function Known({ build }: { readonly build: ImageBuildJson }) {
  const {
    createdAt,
    deploymentId: id = "",
    endedAt,
    error = "",
    imageDestinations = [],
    kind,
    phase,
    runtime = "",
    startedAt,
    venv = "",
  } = build;
  return (
    <>
      <Facts
        facts={[
          ["Phase", <State key="" of={phase} prefix="IMAGE_BUILD_PHASE_" />],
          ["Kind", kind === "IMAGE_BUILD_KIND_VENV" ? "virtual environment" : "image"],
          ["Images", escapeControls(imageDestinations.join(", "))],
          ["Deployment", id !== "" && <DeploymentLink id={id} />],
          ["Venv", escapeControls(venv)],
          ["Runtime", escapeControls(runtime)],
          ["Created", <Time key="" at={createdAt} />],
          ["Began", startedAt && <Time at={startedAt} />],
          ["Ended", endedAt && <Time at={endedAt} />],
        ]}
      />
      {error !== "" && <p>{visibleLines(error)}</p>}
    </>
  );
}
