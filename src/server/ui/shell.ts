/**
 * Public pages without data: the shell, whose script requests the data with the page key, and the
 * entrance, where a browser gets the key.
 */

import { html } from "../../domain/html.ts";
import { pageResponse } from "./layout.ts";

const LOADING = html`<div id="loading"><noscript><p>Pages need JavaScript: their data is asked for with a key that only this page's script has.</p></noscript></div>`;

/**
 * The shell of every page. Its script fills in the page, or shows how to log in: at the identity
 * provider of that host, if there is one, or by the command line.
 */
export function shell(bare: boolean, providerHost: string | undefined): Response {
  return pageResponse({
    title: "Dashboard",
    bare,
    script: "page",
    account: html`<span id="account" hidden><span class="dim">Logged in as <span id="client"></span></span><button type="button" id="logout">Log out</button></span>`,
    before: html`${LOADING}
<section class="card" id="locked" hidden>
<h1>This browser is not logged in</h1>
${providerHost !== undefined && html`<p><a class="button primary" id="provider" href="/login/oidc">Log in with ${providerHost}</a></p>`}
<p>${providerHost === undefined ? "Open" : "Or open"} this page with the command line of somebody who has credentials for this server:</p>
<p class="command"><code id="command"></code><button type="button" id="copy">Copy</button></p>
<p class="dim">The page goes on by itself when this browser is logged in.</p>
</section>
<section class="card" id="failed" hidden>
<h1>No answer</h1>
<p>The server cannot be reached, or failed. Its log says more: <code>svc server logs</code>.</p>
<form><button type="button" id="retry">Try again</button></form>
</section>`,
    body: html``,
  });
}

/** The page that exchanges a code for a session. */
export function entrance(bare: boolean): Response {
  return pageResponse({
    title: "Log in",
    bare,
    script: "entrance",
    before: html`${LOADING}
<section class="card" id="refused" hidden>
<h1>No way in</h1>
<p id="reason"></p>
<p>Make another link with <code>svc dashboard</code>; it works once, for two minutes.</p>
</section>`,
    body: html``,
  });
}
