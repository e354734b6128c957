import type { DiagnosticJson } from "../../../gen/svc/v1/error_pb.ts";
import { visibleLines } from "../../domain/visible.ts";
import { Status } from "./status.tsx";

/** Findings about a project: the rule, the place, what is wrong, and what to do. */
export function Findings({ findings }: { readonly findings: readonly DiagnosticJson[] }) {
  return (
    <ul class="findings">
      {findings.map(({ code = 0, severity, span, message = "", hint = "" }, at) => (
        <li key={`${code} ${at}`}>
          <Status
            tone={severity === "SEVERITY_WARNING" ? "warn" : "bad"}
          >{`${severity === "SEVERITY_WARNING" ? "Warning" : "Error"}[${code}]`}</Status>{" "}
          {span?.file && (
            <code>
              {visibleLines(span.file)}:{span.line}:{span.column}
            </code>
          )}
          <p>{visibleLines(message)}</p>
          {hint !== "" && <p class="dim">{visibleLines(hint)}</p>}
        </li>
      ))}
    </ul>
  );
}
