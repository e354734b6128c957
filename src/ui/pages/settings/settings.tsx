import { useCommand } from "../../app/command.ts";
import { Page } from "../../parts/page.tsx";
import { SectionLinks } from "./setting.tsx";

/** The way to the sections of the settings. */
export default function Settings() {
  const command = useCommand();
  return (
    <Page title="Settings" command={command("environment", "config")}>
      <SectionLinks />
    </Page>
  );
}
