import type { ComponentChildren } from "preact";
import { Command } from "./command.tsx";

/** What stands where nothing is yet: why, and the command that fills it. */
export function Empty({ command, children }: { readonly command?: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{children}</p>
      {command && <Command line={command} />}
    </div>
  );
}
