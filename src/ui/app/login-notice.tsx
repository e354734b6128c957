import { useEffect } from "preact/hooks";
import { Command } from "../parts/command.tsx";
import { commandLine } from "../parts/command-line.ts";
import { address } from "./place.ts";

/** What a browser without a session sees; the page goes on by itself when another tab logs in. */
export function LoginNotice() {
  useEffect(() => {
    document.title = "Log in - svc";
  }, []);
  const host = document.documentElement.dataset.provider;
  const provider = `/login/oidc?${new URLSearchParams({ to: address.value })}`;
  return (
    <section class="notice">
      <h1>This browser is not logged in</h1>
      <p>Open this page with the command line of somebody who has credentials for this server:</p>
      <Command line={commandLine("svc", "dashboard", address.value)} />
      <p class="dim">The page goes on by itself when this browser is logged in.</p>
      {host && (
        <p>
          <a class="button" href={provider}>
            Log in with {host}
          </a>
        </p>
      )}
    </section>
  );
}
