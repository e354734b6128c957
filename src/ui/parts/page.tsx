import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { visibleLines } from "../../domain/visible.ts";
import { pageCommand } from "../app/page-command.ts";
import { Command } from "./command.tsx";

interface PageParts {
  readonly title: string;
  /** The command that gives the same; absent where there is none. */
  readonly command?: string;
  /** Buttons at the right of the title. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/**
 * The frame of a page's content: its title, what acts on it, and the command that gives the same.
 */
export function Page({ title, command, actions, children }: PageParts) {
  useEffect(() => {
    document.title = `${visibleLines(title)} - svc`;
    pageCommand.value = command ?? "";
  }, [title, command]);
  return (
    <>
      <div class="page-head">
        <h1>{visibleLines(title)}</h1>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {command && <Command line={command} />}
      {children}
    </>
  );
}
