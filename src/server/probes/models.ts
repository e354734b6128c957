/** Providers of models list what the key may use. */

import type { Probe } from "./probe-result.ts";
import { callJson } from "./web-call.ts";

/** OpenAI, and what speaks its protocol. */
export const openaiProbe: Probe = async (variables, { signal }) => {
  const base = (variables.OPENAI_BASE_URL ?? "https://api.openai.com/v1").replace(/\/+$/, "");
  const url = new URL(`${base}/models`);
  const headers = {
    authorization: `Bearer ${variables.OPENAI_API_KEY}`,
    ...(variables.OPENAI_ORGANIZATION && { "openai-organization": variables.OPENAI_ORGANIZATION }),
    ...(variables.OPENAI_PROJECT && { "openai-project": variables.OPENAI_PROJECT }),
  };
  const { data } = await callJson(url, { headers, signal });
  return { status: "ok", message: `${url.host} lists ${Array.isArray(data) ? data.length : 0} models` };
};

/** Cohere. */
export const cohereProbe: Probe = async (variables, { signal }) => {
  const base = (variables.COHERE_BASE_URL ?? "https://api.cohere.com").replace(/\/+$/, "");
  const url = new URL(`${base}/v1/models?page_size=1`);
  await callJson(url, { headers: { authorization: `Bearer ${variables.COHERE_API_KEY}` }, signal });
  return { status: "ok", message: `${url.host} took the key` };
};
