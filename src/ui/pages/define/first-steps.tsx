import { Command } from "../../parts/command.tsx";
import { Status } from "../../parts/status.tsx";

interface Steps {
  readonly hasDeployments: boolean;
  readonly hasFeatures: boolean;
}

/** The way from an empty environment to an answer, ticked as it is gone. */
export function FirstSteps({ hasDeployments, hasFeatures }: Steps) {
  const steps: readonly (readonly [isDone: boolean, text: string, line: string])[] = [
    [hasDeployments, "Make a project", "svc init"],
    [hasFeatures, "Deploy it", "svc apply"],
    [false, "Ask for a feature", "svc query --in user.id=1 --out user"],
  ];
  return (
    <>
      <h2>First steps</h2>
      <ol class="steps">
        {steps.map(([isDone, text, line]) => (
          <li key={line}>
            <Status tone={isDone ? "good" : "dim"}>{isDone ? "done" : "to do"}</Status>
            <span>{text}</span>
            <Command line={line} />
          </li>
        ))}
      </ol>
    </>
  );
}
