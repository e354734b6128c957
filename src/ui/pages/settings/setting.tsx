import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { CallError } from "../../api/call.ts";
import { useCommand } from "../../app/command.ts";
import { href } from "../../app/place.ts";
import { Empty } from "../../parts/empty.tsx";
import { Failed } from "../../parts/failed.tsx";
import { Page } from "../../parts/page.tsx";
import { Skeleton } from "../../parts/skeleton.tsx";
import type { PageProps } from "../../routes.ts";
import { SECTIONS } from "./sections.ts";

/** One section of the settings. */
export default function Setting({ place }: PageProps<"setting">) {
  const command = useCommand();
  const name = place.params.section;
  const section = Object.hasOwn(SECTIONS, name) ? SECTIONS[name] : undefined;
  if (!section)
    return (
      <Page title="Settings">
        <Empty>There are no settings of this name.</Empty>
        <SectionLinks />
      </Page>
    );
  return (
    <Page title={section.title} command={command(...section.words)}>
      <SectionLinks current={name} />
      <Loaded key={name} name={name} />
    </Page>
  );
}

/** Links to all sections. */
export function SectionLinks({ current }: { readonly current?: string }) {
  return (
    <nav class="sections" aria-label="Settings">
      {Object.entries(SECTIONS).map(([section, { title }]) => (
        <a key={section} href={href("setting", { section })} aria-current={section === current ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

function Loaded({ name }: { readonly name: string }) {
  const content = useSignal<{ readonly is: ComponentType } | CallError | undefined>(undefined);
  useEffect(() => {
    SECTIONS[name]?.load().then(
      ({ default: is }) => {
        content.value = { is };
      },
      () => {
        content.value = new CallError(
          "unreachable",
          "The section could not be loaded.",
          "The server may have been updated: load the page again.",
        );
      },
    );
  }, [name]);
  if (content.value instanceof CallError) return <Failed error={content.value} onRetry={() => location.reload()} />;
  const Content = content.value?.is;
  return Content ? <Content /> : <Skeleton lines={6} />;
}
