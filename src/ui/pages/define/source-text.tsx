import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { SpanJson } from "../../../../gen/svc/v1/error_pb.ts";
import { CallError } from "../../api/call.ts";
import { sourceText } from "../../api/source.ts";
import { scope } from "../../app/place.ts";
import { Code } from "../../parts/code.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import { definitionAt } from "./definition.ts";

/** The source text of a definition, with the line of its name marked. */
export function SourceText({ deployment, span }: { readonly deployment: string; readonly span: SpanJson }) {
  const { file = "", line = 1 } = span;
  const found = useSignal<string | CallError | undefined>(undefined);
  const load = () => {
    found.value = undefined;
    sourceText(deployment, scope.value.environment, file).then(
      (text) => (found.value = text),
      (error: unknown) => (found.value = error instanceof CallError ? error : new CallError("unknown", `The sources: ${error}`)),
    );
  };
  useEffect(load, [deployment, file]);
  if (found.value === undefined) return <Skeleton lines={5} />;
  if (typeof found.value !== "string") return <Failed error={found.value} onRetry={load} />;
  const { firstLine, text } = definitionAt(found.value, line);
  return (
    <Code text={text} file={`${file}:${line}`} firstLine={firstLine} line={line} language={file.endsWith(".py") ? "python" : "text"} />
  );
}
